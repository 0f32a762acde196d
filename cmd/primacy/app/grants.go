package app

import (
	"context"
	"reflect"
	"slices"
	"strings"
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
	fresh := without(all, g.known)
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

// without are the needs that are not among those that are known.
func without(all, known []need) []need {
	return slices.DeleteFunc(slices.Clone(all), func(n need) bool {
		return slices.ContainsFunc(known, func(k need) bool { return reflect.DeepEqual(n, k) })
	})
}

// furtherRights names, for people, what a member must be allowed before it takes up a configuration, beyond what the one in
// force needs. A Role gives members all Leases beside the sessions.
func furtherRights(inForce, next []need) string {
	var what []string
	verbs := map[string][]string{}
	for _, n := range without(required(next), required(inForce)) {
		if n.resource == leases && n.place == besideLocks {
			continue
		}
		on := n.what()
		if n.namespace != "" {
			on += " in namespace " + n.namespace
		}
		if verbs[on] == nil {
			what = append(what, on)
		}
		verbs[on] = append(verbs[on], n.verb)
	}
	for i, on := range what {
		what[i] = strings.Join(verbs[on], ", ") + " " + on
	}
	return strings.Join(what, "; ")
}
