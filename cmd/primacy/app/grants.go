package app

import (
	"context"
	"reflect"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/config"
)

// grantTime limits how long we ask the API server what this process may do.
const grantTime = 10 * time.Second

// grants remembers the permissions that a member is known to have. It belongs to the goroutine
// that watches its file.
type grants struct {
	cluster *cluster
	process *config.Process
	// name is the member's name.
	name string
	log  *zap.Logger
	// known are the permissions that the last checked configuration needs.
	known []need
}

// check asks the API server for the permissions that the process did not need before. A missing one is an error:
// if members may not write the lock of an election, nobody can lead it.
func (g *grants) check(ctx context.Context, next *reload) error {
	process := *g.process
	process.Configuration = next.Next
	all := required(needs(&process, g.name, next.made.source))
	fresh := slices.DeleteFunc(slices.Clone(all), func(n need) bool {
		return slices.ContainsFunc(g.known, func(k need) bool { return reflect.DeepEqual(n, k) })
	})
	if len(fresh) > 0 {
		ctx, cancel := context.WithTimeout(ctx, grantTime)
		defer cancel()
		i := insist(g.cluster, grantTime, g.log)
		if err := checkPermissions(ctx, g.cluster, i, fresh, g.log); err != nil {
			return err
		}
		if err := checkElsewhere(ctx, g.cluster, i, fresh); err != nil {
			return err
		}
	}
	g.known = all
	return nil
}
