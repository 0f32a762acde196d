package app

import (
	"context"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
)

// identity sets a variable of the script to the holder of a session: identity SESSION VARIABLE
func (s *scripts) identity(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	client, err := lease.NewClient(s.cluster.Config)
	ts.Check(err)
	e, err := lease.In(client, ts.Getenv("NS")).Get(context.Background(), args[0])
	ts.Check(err)
	if e.Record == nil || e.Record.Holder == "" {
		ts.Fatalf("session %s has no holder", args[0])
	}
	ts.Setenv(args[1], e.Record.Holder)
}
