package member

import (
	"fmt"
	"slices"
	"testing"

	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// told returns what the member has logged about failing operations since the last call.
func told(m *Member) (all []string) {
	for _, e := range m.out.list {
		if l, is := e.(Log); is {
			fields := zapcore.NewMapObjectEncoder()
			for _, f := range l.Fields {
				f.AddTo(fields)
			}
			if fields.Fields["operation"] == nil {
				continue
			}
			all = append(all, fmt.Sprint(l.Message, " ", fields.Fields["operation"], " ", fields.Fields["object"]))
		}
	}
	m.out.list = nil
	return all
}

// wantTold checks what the member has logged about failing operations since the last check.
func wantTold(t *testing.T, m *Member, want ...string) {
	t.Helper()
	if got := told(m); !slices.Equal(got, want) {
		t.Errorf("it logs %q, want %q", got, want)
	}
}

// TestARefusedEndIsTold checks that a member logs once that the store refuses the end of another member's session, and
// logs the recovery when that session has ended, whoever ended it.
func TestARefusedEndIsTold(t *testing.T) {
	m := incarnation(Heritage{})
	shownLongLease(m)
	told(m)
	name := session.SlotName("edge", "m2", 0)
	refused := func(err error) {
		m.conclude(asked{session: session.Write{Name: name}}, answer{err: err, outcome: lock.OutcomeOf(err)})
	}
	seen := func(r *record.Record, revision uint64) {
		m.dir.Observe(m.now, name, r, record.Version{UID: "u", Revision: revision})
		m.viewStale = true
		m.tendView()
	}
	live := &record.Record{Holder: "m2_01234567", Group: "edge", Mark: &record.Mark{Identity: "m2_01234567", Beat: 2}, Member: &record.Member{Identity: "m2_01234567"}}
	ended := session.EndedRecord(live, "m3_01234567", "expired")
	refused(lock.ErrConflict)
	wantTold(t, m)
	for n := range uint64(2) {
		refused(lock.ErrDenied)
		refused(lock.ErrDenied)
		wantTold(t, m, "failing; retrying end of a session "+name)
		seen(live, 110+10*n)
		wantTold(t, m)
		if n == 0 {
			seen(&ended, 111)
		} else {
			seen(nil, 121)
		}
		wantTold(t, m, "recovered end of a session "+name)
	}
}

// TestAFailedReadOfTheSessionIsTold checks that a member logs once that it cannot read its own session, and once that it can
// again.
func TestAFailedReadOfTheSessionIsTold(t *testing.T) {
	m := incarnation(Heritage{})
	shownLongLease(m)
	m.tendSession() // it chooses its slot
	told(m)
	read := func(err error) { m.conclude(asked{session: session.Read{Name: m.own.Name()}}, answer{err: err}) }
	read(lock.ErrDenied)
	read(lock.ErrDenied)
	wantTold(t, m, "failing; retrying read of our session "+m.own.Name())
	read(nil)
	wantTold(t, m, "recovered read of our session "+m.own.Name())
}
