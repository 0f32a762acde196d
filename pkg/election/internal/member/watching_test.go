package member

import (
	"fmt"
	"testing"

	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestOneCopyOfWhatIsTheSame checks that the machine's copy replaces the shown record only if both are
// equal: an admission webhook may have changed what we wrote.
func TestOneCopyOfWhatIsTheSame(t *testing.T) {
	version := record.Version{UID: "u", Revision: 7}
	wrote := func(token record.Token) *record.Record {
		return &record.Record{Holder: "m1_01234567", Token: token, Mark: &record.Mark{Identity: "m1_01234567", Beat: 3}}
	}
	c := &contest{}
	c.state.Lock.Record, c.state.Lock.Version = wrote(5), version
	for what, shown := range map[string]struct {
		entry lock.Entry
		same  bool
	}{
		"the same":        {lock.Entry{Record: wrote(5), Version: version}, true},
		"another content": {lock.Entry{Record: wrote(6), Version: version}, false},
		"another version": {lock.Entry{Record: wrote(5), Version: record.Version{UID: "u", Revision: 8}}, false},
		"absent":          {lock.Entry{Version: record.Version{Revision: 8}}, false},
	} {
		if got := c.known(shown.entry); (got.Record == c.state.Lock.Record) != shown.same || !shown.same && got != shown.entry {
			t.Errorf("%s: %+v becomes %+v", what, shown.entry, got)
		}
	}
}

// TestRoutineEndOfAWatchIsNotLogged checks that a watch that ends as it was asked to is no failure, and that any other
// end is.
func TestRoutineEndOfAWatchIsNotLogged(t *testing.T) {
	for err, want := range map[error]int{lock.ErrEnded: 0, lock.ErrUnknown: 1} {
		m := New(Config{Group: "edge", Identity: "m1_01234567", Host: "m1"})
		m.watched(m.streamOf(Own), lock.Event{Kind: lock.Broken, Err: err}, 1)
		logged := 0
		for _, e := range m.out.list {
			if _, is := e.(Log); is {
				logged++
			}
		}
		if logged != want || !m.streamOf(Own).cut {
			t.Errorf("%v: %d lines are logged, want %d; the stream counts as cut: %v", err, logged, want, m.streamOf(Own).cut)
		}
	}
}

// TestTroublesOfWatchesAreTheirOwn checks that the member logs the failures and the recovery of each watch, whatever
// becomes of the other watches.
func TestTroublesOfWatchesAreTheirOwn(t *testing.T) {
	m := New(Config{Group: "edge", Identity: "m1_01234567", Host: "m1"})
	own, maps, kube := m.streamOf(Own), m.streamOf(Store{ID: 1}), m.streamOf(Store{ID: 2, Place: "kube-system"})
	breaks := func(err error) lock.Event { return lock.Event{Kind: lock.Broken, Err: err} }
	resumes := lock.Event{Kind: lock.Resumed}
	for i, step := range []struct {
		s    *stream
		e    lock.Event
		want string // what is logged, and of which namespace
	}{
		{maps, breaks(lock.ErrDenied), "failing; retrying of <nil>"},
		{maps, breaks(lock.ErrDenied), ""},
		{kube, breaks(lock.ErrDenied), "failing; retrying of kube-system"},
		{own, resumes, ""},
		{own, breaks(lock.ErrUnknown), "failing; retrying of <nil>"},
		{own, resumes, "recovered of <nil>"},
		{own, breaks(lock.ErrUnknown), "failing; retrying of <nil>"},
		{kube, resumes, "recovered of kube-system"},
		{maps, resumes, "recovered of <nil>"},
		{maps, resumes, ""},
	} {
		m.out.list = nil
		m.watched(step.s, step.e, record.Instant(i+1))
		got := ""
		for _, e := range m.out.list {
			if l, is := e.(Log); is {
				fields := zapcore.NewMapObjectEncoder()
				for _, f := range l.Fields {
					f.AddTo(fields)
				}
				got += fmt.Sprint(l.Message, " of ", fields.Fields["namespace"])
			}
		}
		if got != step.want {
			t.Errorf("step %d: logged %q, want %q", i, got, step.want)
		}
	}
}
