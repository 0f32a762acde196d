package app

import (
	"context"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/cmd/primacy/endpoints"
	"github.com/primacy-dev/primacy/config"
)

// serve serves the member's endpoints until the caller calls end, which waits for the last request. They outlive ctx: a
// member that leaves still says so.
func (m *member) serve(ctx context.Context) (end func(), err error) {
	at := m.process.Configuration.HTTP
	c := endpoints.Config{HTTP: at, Health: m.manager, Elections: m.manager, Collectors: m.collectors(), Log: m.log}
	if at.Access == config.AccessToken {
		if c.Reviewer, err = endpoints.NewReviewer(m.cluster, m.clock, m.log); err != nil {
			return nil, err
		}
	}
	server, err := endpoints.Listen(ctx, c)
	if err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan struct{})
	go func() { // joined by end
		defer close(served)
		if err := server.Run(serving); err != nil {
			m.log.Error("endpoints are no longer served; probes will fail", zap.Error(err))
		}
	}()
	return func() {
		stop()
		<-served
	}, nil
}
