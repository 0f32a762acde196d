package app

import (
	"context"
	"reflect"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/config"
)

// grantTime is how long the API server may take to say what this process may do.
const grantTime = 10 * time.Second

// grants remember which permissions a member was found to have. They belong to the goroutine
// that watches its file.
type grants struct {
	cluster *cluster
	process *config.Process
	// name is the member's.
	name string
	log  *zap.Logger
	// known are those that it needs for the configuration in force.
	known []need
}

// check asks whether the process may do what it did not need before. An election whose lock
// it may not touch would be led by nobody.
func (g *grants) check(ctx context.Context, next *reload) error {
	process := *g.process
	process.Configuration = next.Next
	all := needs(&process, g.name, next.made.source)
	fresh := slices.DeleteFunc(slices.Clone(all), func(n need) bool {
		return slices.ContainsFunc(g.known, func(k need) bool { return reflect.DeepEqual(n, k) })
	})
	if len(fresh) > 0 {
		ctx, cancel := context.WithTimeout(ctx, grantTime)
		defer cancel()
		if err := checkPermissions(ctx, g.cluster, insist(g.cluster, grantTime, g.log), fresh, nil, g.log); err != nil {
			return err
		}
	}
	g.known = all
	return nil
}
