package member

import (
	"fmt"
	"slices"
	"testing"

	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// TestTroublesAreToldOnce checks that an outage of many elections takes only a few log lines, whatever the
// errors say, and that its end does, too.
func TestTroublesAreToldOnce(t *testing.T) {
	var out effects
	trouble := troubles{log: logger{to: &out}}
	want := func(want ...string) {
		t.Helper()
		var got []string
		for _, e := range out.list {
			fields := zapcore.NewMapObjectEncoder()
			for _, f := range e.(Log).Fields {
				f.AddTo(fields)
			}
			got = append(got, fmt.Sprint(e.(Log).Message, " ", fields.Fields["object"], " ", fields.Fields["objects"]))
		}
		out.list = nil
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	down := func(i int) error { return fmt.Errorf("%w: from port %d", lock.ErrUnknown, i) }
	for round := range 3 {
		for i := range 150 {
			trouble.note("write", lockName{name: fmt.Sprint("e", i)}, down(1000*round+i))
		}
	}
	want("failing; retrying e0 <nil>",
		"failing for many objects; retrying <nil> 10",
		"failing for many objects; retrying <nil> 100")
	trouble.note("write", lockName{name: "e7"}, lock.ErrDenied)
	want("failing; retrying e7 <nil>")
	trouble.note("read", lockName{name: "e7"}, down(1))
	want("failing; retrying e7 <nil>")
	trouble.note("read", lockName{name: "e7"}, nil)
	want("recovered e7 1")
	for i := range 149 {
		trouble.note("write", lockName{name: fmt.Sprint("e", i)}, nil)
	}
	want()
	trouble.forget(lockName{name: "e149"})
	want()
	trouble.note("write", lockName{name: "e1"}, down(1))
	trouble.note("write", lockName{name: "e1"}, nil)
	want("failing; retrying e1 <nil>", "recovered e1 1")

	// The two locks of a migration may have the same name in two stores.
	trouble.note("write", lockName{Store{ID: 1}, "e1"}, down(1))
	want("failing; retrying e1 <nil>")
	trouble.note("write", lockName{name: "e1"}, nil)
	want()
}
