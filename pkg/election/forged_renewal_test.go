package election_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// forgeRenewal edits a lock's mark, as a stranger may, to say that the session renews the lock.
func forgeRenewal(t *testing.T, g *group, name, session string) {
	t.Helper()
	g.realm.Edit(name, func(o *codec.Object) {
		was := o.Annotations[codec.HolderAnnotation]
		forged := strings.Replace(was, `"renewal":"record"`, `"renewal":"session"`+session, 1)
		if was == forged {
			t.Fatalf("this shows nothing: %s", was)
		}
		o.Annotations[codec.HolderAnnotation] = forged
	})
}

func (g *group) sessionOf(name string) string {
	return `,"session":"` + slot(name) + `","sessionUID":"` + g.realm.Read(slot(name)).Version.UID + `"`
}

// TestForgedToASession has a stranger make a lock look as if its holder's session kept it alive. It
// checks that the others rely on the renewal that the holder wrote with its beat, and that the holder
// keeps renewing the record.
func TestForgedToASession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		g.stop = time.Second
		g.renewal = func(_, e string) record.Renewal {
			if e == "a" {
				return record.RenewalRecord
			}
			return record.RenewalSession
		}
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(40 * time.Second)
		g.wantLeader("a", m1, m1, m2)
		forgeRenewal(t, g, "a", g.sessionOf("m1"))
		after(time.Minute)
		g.wantLeader("a", m1, m1, m2)
		g.end(m1, m2)
	})
}

// TestForgedToASessionWhileItFailsOpen makes the same edit as TestForgedToASession to a lock whose holder
// fails open while its writes hang. It checks that members that wait for the holder keep waiting.
func TestForgedToASessionWhileItFailsOpen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		g.stop = time.Second
		g.differ = func(s *election.Spec) {
			if s.Name == "a" {
				s.Renewal = record.RenewalRecord
				s.Outage = machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded}
			}
		}
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(40 * time.Second)
		m1.store.On(memory.Put, memory.Named("a", memory.Hang()))
		after(30 * time.Second)
		if !m1.status["a"].FailingOpen() || m2.status["a"].IsLeader() {
			t.Fatalf("m1 fails open: %v, m2 leads: %v", m1.status["a"].FailingOpen(), m2.status["a"].IsLeader())
		}
		forgeRenewal(t, g, "a", g.sessionOf("m1"))
		after(time.Minute)
		g.wantLeader("a", m1, m1, m2)
		m1.store.Heal()
		g.end(m1, m2)
	})
}

// TestForgedToASessionWithALongerLease makes the same edit as TestForgedToASession, with a lease shorter
// than the session's and a holder that is cut off. It checks that the holder's work is dead before the
// others take the lock.
func TestForgedToASessionWithALongerLease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		g.stop = 200 * time.Millisecond
		g.differ = func(s *election.Spec) {
			if s.Name == "a" {
				s.Timing = record.Timing{LeaseDuration: 6 * time.Second, RenewInterval: time.Second, StopGrace: time.Second}
			}
		}
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(40 * time.Second)
		g.wantLeader("a", m1, m1, m2)
		forgeRenewal(t, g, "a", g.sessionOf("m1"))
		after(100 * time.Millisecond)
		mend := shut(m1.store, memory.Watch, memory.List, memory.Get, memory.Put)
		after(20 * time.Second)
		g.wantLeader("a", m2, m2)
		mend()
		after(time.Minute)
		g.end(m1, m2)
	})
}

// TestForgedToNoSession checks that a mark that names no session counts as nobody's beat, even for a
// member that has no session any more.
func TestForgedToNoSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		g.stop = 200 * time.Millisecond
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m1.store.On(memory.Put, memory.Named(slot("m1"), func(context.Context, memory.Call, func() error) error {
			return fmt.Errorf("no: %w", lock.ErrDenied)
		}))
		after(time.Minute)
		g.wantLeader("a", m1, m1)
		forgeRenewal(t, g, "a", "")
		after(time.Minute)
		g.wantLeader("a", m1, m1)
		g.end(m1)
	})
}

// TestForgedToARecordBeforeSomebodyJoins forges the reverse: the lock of a session looks as if its record
// were renewed. A member that joins after the edit knows nothing of the session, and sees renewals of the
// record.
func TestForgedToARecordBeforeSomebodyJoins(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		g.stop = time.Second
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		g.realm.Edit("a", func(o *codec.Object) {
			o.Annotations[codec.HolderAnnotation] = strings.Replace(o.Annotations[codec.HolderAnnotation], `"renewal":"session"`, `"renewal":"record"`, 1)
		})
		m2 := g.join("m2", "stable", stable)
		after(time.Minute)
		g.wantLeader("a", m1, m1, m2)
		g.end(m1, m2)
	})
}
