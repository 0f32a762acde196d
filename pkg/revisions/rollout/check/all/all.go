// Package all registers every check of Primacy.
package all

import (
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check/acquired"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check/flaps"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check/renewals"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check/runners"
)

// Registry returns a registry of all checks.
func Registry() *check.Registry {
	r := &check.Registry{}
	r.Register(acquired.Check{})
	r.Register(flaps.Check{})
	r.Register(renewals.Check{})
	r.Register(runners.Check{})
	return r
}
