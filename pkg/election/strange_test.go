package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestALockNamedLikeASession checks that members end no lock of another group whose name begins like those of their sessions, although a
// stranger removed its labels.
func TestALockNamedLikeASession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		o := newGroup(t, "x")
		o.realm, o.stop = g.realm, 3*time.Second
		o.bend = func(c *election.Config, _ *election.Spec) { c.Group = "other" }
		o.differ = func(s *election.Spec) { s.Lock = "primacy-edge-x" }
		o1 := o.join("o1", "stable", stable)
		after(30 * time.Second)
		o2 := o.join("o2", "stable", stable)
		after(30 * time.Second)
		o.wantLeader("x", o1, o1, o2)
		g.realm.Edit("primacy-edge-x", func(o *codec.Object) { clear(o.Labels) })
		after(time.Minute)
		o.wantLeader("x", o1, o1, o2)
		o.end(o1, o2)
		g.end(m1)
	})
}

// TestAStrangersLeaseNamedLikeASession checks that members write to no lock of another program whose name begins like those of their
// sessions.
func TestAStrangersLeaseNamedLikeASession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		for _, name := range []string{"primacy-edge-operator", slot("m2")} {
			for range 12 {
				g.realm.Edit(name, func(o *codec.Object) {
					o.Fields.Holder, o.Fields.DurationSeconds, o.Fields.Renewed = "operator-7d9f_1b2c", 60, g.clock.Wall().UTC()
					o.Fields.Acquired = o.Fields.Renewed
				})
				after(20 * time.Second)
				if r := g.realm.Read(name).Record; r.Holder != "operator-7d9f_1b2c" {
					t.Fatalf("%s: a member wrote holder %q", name, r.Holder)
				}
			}
		}
		m2 := g.join("m2", "stable", stable)
		after(2 * time.Minute)
		if r := g.realm.Read(slot("m2")).Record; r.Holder != "operator-7d9f_1b2c" {
			t.Errorf("%s: a member wrote holder %q", slot("m2"), r.Holder)
		}
		g.end(m1, m2)
	})
}

// TestASessionThatTellsOfNoMember checks that a dead member's session keeps no lock for ever if a stranger removed all that it says of the
// member before the others saw it.
func TestASessionThatTellsOfNoMember(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		mend := shut(m1.store, memory.Watch, memory.List, memory.Get, memory.Put)
		g.realm.Edit(slot("m1"), func(o *codec.Object) {
			delete(o.Annotations, codec.MemberAnnotation)
			delete(o.Annotations, codec.BeatAnnotation)
		})
		m2 := g.join("m2", "stable", stable)
		after(3 * time.Minute)
		g.wantLeader("a", m2, m2)
		mend()
		g.end(m1, m2)
	})
}

// TestASessionThatIsDenied checks that a member whose session the store refuses goes on with what it leads by its locks' records, and comes back
// under a new identity once it leads nothing.
func TestASessionThatIsDenied(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		g.wantLeader("a", m1, m1)
		was := g.realm.Read(slot("m1")).Record.Holder
		m1.store.On(memory.Put, memory.Named(slot("m1"), memory.Reject(lock.ErrDenied)))
		after(2 * time.Minute)
		if s := m1.status["a"]; !s.IsLeader() || s.Cycle() != 1 {
			t.Error("it does not lead on")
		}
		if err := m1.manager.Apply(election.Change{Remove: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
		after(time.Minute)
		if r := g.realm.Read("primacy-edge-m1-1").Record; r == nil || r.Holder == "" || r.Holder == was {
			t.Errorf("it did not come back: %+v", r)
		}
		g.end(m1)
	})
}
