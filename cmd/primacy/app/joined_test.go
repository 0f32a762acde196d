package app

import (
	"context"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
)

var joining = regexp.MustCompile(`"msg":"joining".*?"identity":"([^"]+)"`)

// joined waits until NAME, and with it everybody else, can see the session that it told of last: joined NAME. A member
// says that it joins before it writes its session, and a busy machine may run a command or a kill between the two.
func (s *scripts) joined(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	told := joining.FindAllStringSubmatch(jobOf(ts, args[0]).text(), -1)
	if told == nil {
		ts.Fatalf("%s has not said that it joins", args[0])
	}
	identity := told[len(told)-1][1]
	client, err := lease.NewClient(s.cluster.Config)
	ts.Check(err)
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	ts.Check(lease.In(client, ts.Getenv("NS")).Watch(ctx, func(e lock.Event) {
		for _, e := range append(e.List, e.Entry) {
			if e.Record != nil && e.Record.Member != nil && e.Record.Holder == identity {
				cancel()
			}
		}
	}))
	if context.Cause(ctx) != context.Canceled {
		ts.Fatalf("%s wrote no session", identity)
	}
}
