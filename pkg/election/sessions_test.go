package election_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func slot(member string) string { return "primacy-edge-" + member + "-0" }

// TestRecordsAreLeftAlone checks that a lock that sessions renew is written once for each term.
func TestRecordsAreLeftAlone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		m1, m2 := g.join("m1", "stable", stable), g.join("m2", "stable", stable)
		after(30 * time.Second)
		before := map[string]record.Version{}
		for _, e := range g.names {
			before[e] = g.realm.Read(e).Version
		}
		after(10 * time.Minute)
		for _, e := range g.names {
			r := g.realm.Read(e)
			if r.Version != before[e] {
				t.Errorf("%s was written at %v, since %v", e, r.Version, before[e])
			}
			if !r.Record.ThroughSession() || r.Record.Mark.SessionUID == "" || r.Record.Duration < 24*time.Hour {
				t.Errorf("%s: %+v, mark %+v", e, r.Record, r.Record.Mark)
			}
			if l := leaders(m1, m2)[e]; len(l) != 1 {
				t.Errorf("%s is led by %v", e, l)
			}
		}
		g.end(m1, m2)
	})
}

// puts counts the writes of a member, by name.
type puts struct {
	mu sync.Mutex
	of map[string]int
}

func countPuts(s *memory.Store, each time.Duration) *puts {
	p := &puts{of: map[string]int{}}
	s.On(memory.Put, func(ctx context.Context, c memory.Call, op func() error) error {
		p.mu.Lock()
		p.of[c.Name]++
		p.mu.Unlock()
		return memory.Delay(each)(ctx, c, op)
	})
	return p
}

// to counts writes to names that begin with the prefix.
func (p *puts) to(prefix string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, k := range p.of {
		if strings.HasPrefix(name, prefix) {
			n += k
		}
	}
	return n
}

func many(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("e%03d", i)
	}
	return names
}

// TestRolesAfterTheEndOfManyTerms checks that a member that has ended its session instead of releasing each lock says that it
// follows.
func TestRolesAfterTheEndOfManyTerms(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		names := many(200)
		g := newGroup(t, names...)
		m := g.join("m1", "stable", stable)
		after(time.Minute)
		m.leave(t)
		if !slices.ContainsFunc(names, func(name string) bool { return g.realm.Read(name).Record.Holder != "" }) {
			t.Fatal("it released all locks one by one")
		}
		for name, s := range m.status {
			if role, why, _ := s.Role(); role != election.Following {
				t.Errorf("%s: %v (%s)", name, role, why)
			}
		}
		g.end()
	})
}

// TestDeadMember checks what others do about a member that is cut off: they first end its session, then
// take each of its locks once, spread over the living members. The cut-off member has stopped before
// that, and comes back as a new incarnation.
func TestDeadMember(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, many(60)...)
		g.stop = time.Second
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2, m3 := g.join("m2", "stable", stable), g.join("m3", "stable", stable)
		after(10 * time.Second)
		was := g.realm.Read(slot("m1")).Record.Holder
		p2, p3 := countPuts(m2.store, 0), countPuts(m3.store, 0)
		hangAll(m1.store)
		m1.store.CutWatches()
		after(20 * time.Second)
		if s := g.realm.Read(slot("m1")).Record; !s.Released() {
			t.Errorf("the session of the dead is not ended: %+v", s)
		}
		count := map[string]int{}
		for _, e := range g.names {
			l := leaders(m1, m2, m3)[e]
			if len(l) != 1 || l[0] == "m1" {
				t.Fatalf("%s is led by %v", e, l)
			}
			count[l[0]]++
		}
		if count["m2"] < 15 || count["m3"] < 15 {
			t.Errorf("the dead member's locks went to %v", count)
		}
		if taken := p2.to("e") + p3.to("e"); taken != len(g.names) {
			t.Errorf("%d writes for %d locks", taken, len(g.names))
		}
		m1.store.Heal()
		after(60 * time.Second)
		if now := g.realm.Read(slot("m1")).Record.Holder; now == was || now == "" {
			t.Errorf("came back as %q, was %q", now, was)
		}
		for _, m := range []*member{m1, m2, m3} {
			m.leave(t)
		}
		for _, o := range g.judge.overlaps() {
			t.Error(o)
		}
	})
}

// TestBlindHolder checks that a member whose watch shows nothing, while its writes succeed, stops by the
// deadline of the last beat that it saw, and does not keep others from its locks.
func TestBlindHolder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(10 * time.Second)
		m1.store.On(memory.Deliver, memory.Hang())
		m1.store.On(memory.List, memory.Hang())
		after(15 * time.Second)
		for _, e := range g.names {
			g.wantLeader(e, nil, m1, m2)
		}
		if s := g.realm.Read(slot("m1")).Record; s.Released() {
			t.Error("nobody may end a session that beats")
		}
		after(60 * time.Second)
		for _, e := range g.names {
			g.wantLeader(e, m2, m1, m2)
		}
		m1.store.Heal()
		after(60 * time.Second)
		m2.leave(t)
		after(time.Second)
		for _, e := range g.names {
			g.wantLeader(e, m1, m1)
		}
		g.end(m1)
	})
}

// TestStrayLockIsReleased checks rule answer-for-your-writes: a take that is carried out after its
// election was removed leaves a lock (a stray) that this member holds for as long as its session lives.
// The member releases the stray.
func TestStrayLockIsReleased(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		m1, late := g.joinLosing("m1", "b")
		if err := late(); err != nil {
			t.Fatalf("the take was not carried out: %v", err)
		}
		if r := g.realm.Read("b").Record; r.Holder == "" || !r.ThroughSession() {
			t.Fatalf("this shows nothing: %+v", r)
		}
		m1.store.Heal()
		after(time.Second)
		if r := g.realm.Read("b").Record; !r.Released() {
			t.Errorf("%+v is still held", r)
		}
		status, err := m1.manager.Add(election.Spec{Name: "b"}, g.judge.runner("m1", 0))
		if err != nil {
			t.Fatal(err)
		}
		after(5 * time.Second)
		if !status.IsLeader() {
			t.Error("an election that came back is not led")
		}
		g.wantLeader("a", m1, m1)
		g.end(m1)
	})
}

// joinLosing starts a member from which the test removes an election while its take of the lock is under
// way; late carries the take out.
func (g *group) joinLosing(name, lost string) (m *member, late func() error) {
	g.t.Helper()
	m = g.join(name, "stable", stable)
	after(14 * time.Second)
	m.store.On(memory.Put, memory.Named(lost, memory.Once(func(ctx context.Context, _ memory.Call, op func() error) error {
		late = op
		<-ctx.Done()
		return fmt.Errorf("%w: no reply", lock.ErrUnknown)
	})))
	after(3 * time.Second)
	m.store.On(memory.Get, memory.Named(lost, memory.Hang()))
	if err := m.manager.Remove(g.t.Context(), lost); err != nil {
		g.t.Fatal(err)
	}
	return m, late
}

// TestReadinessIsHeardWhileAStrayIsReleased has an election wait until its lock is released, which an
// earlier take of this member left behind (a stray). It checks that the election begins with the
// readiness that its runner reported meanwhile.
func TestReadinessIsHeardWhileAStrayIsReleased(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		m1, late := g.joinLosing("m1", "b")
		m1.store.Heal()
		m1.store.On(memory.Put, memory.Named("b", memory.Delay(2*time.Second))) // the release
		if err := late(); err != nil {
			t.Fatalf("the take was not carried out: %v", err)
		}
		after(500 * time.Millisecond)
		r := &readied{g.judge.runner("m1", 0), make(chan error)}
		status, err := m1.manager.Add(election.Spec{Name: "b"}, r)
		if err != nil {
			t.Fatal(err)
		}
		r.say <- nil
		after(time.Second)
		if rec := g.realm.Read("b").Record; rec.Released() {
			t.Fatalf("this shows nothing: %+v", rec)
		}
		m1.store.Heal()
		after(15 * time.Second)
		if !status.IsLeader() {
			t.Error("an election that came back is not led")
		}
		if unready := g.realm.Read(slot("m1")).Record.Member.Standing; len(unready) > 0 {
			t.Errorf("the session says that the runners of %v are not ready", unready)
		}
		g.end(m1)
	})
}

// TestManyLocksAreLetGoAtOnce checks that a member that leaves with many locks ends its session instead
// of releasing each, and only after all its work has stopped.
func TestManyLocksAreLetGoAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, many(200)...)
		g.stop = 2 * time.Second
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(10 * time.Second)
		p1 := countPuts(m1.store, 50*time.Millisecond)
		m1.leave(t)
		if n := p1.to(""); n > 70 {
			t.Errorf("%d writes to leave", n)
		}
		after(time.Second)
		for _, e := range g.names {
			g.wantLeader(e, m2, m2)
		}
		m2.leave(t)
		g.verdict(400)
	})
}

// TestBothRenewals changes elections from renewal by record to sessions and back. It checks that the
// holder's setting decides while members of both settings take part, and that in no step do two members
// work, or none.
func TestBothRenewals(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		setting := record.RenewalRecord
		g.renewal = func(string, string) record.Renewal { return setting }
		old := []*member{g.join("m1", "stable", stable), g.join("m2", "stable", stable)}
		after(30 * time.Second)
		for _, next := range []record.Renewal{record.RenewalSession, record.RenewalRecord} {
			setting = next
			for i := range old {
				fresh := g.join(fmt.Sprintf("%s-%s", old[i].name, next), "stable", stable)
				after(20 * time.Second)
				old[i].leave(t)
				old[i] = fresh
				after(5 * time.Second)
				for _, e := range g.names {
					if l := leaders(old...)[e]; len(l) != 1 {
						t.Errorf("%s is led by %v", e, l)
					}
				}
			}
			for _, e := range g.names {
				if got := g.realm.Read(e).Record.Mark.Renewal; got != next {
					t.Errorf("%s is renewed by %s, want %s", e, got, next)
				}
			}
		}
		for _, m := range old {
			m.leave(t)
		}
		for _, o := range g.judge.overlaps() {
			t.Error(o)
		}
	})
}

// TestSessionIsTamperedWith has a stranger blank or recreate a session. It checks that the session's
// owner stops and comes back, and that others wait before they take its locks.
func TestSessionIsTamperedWith(t *testing.T) {
	for name, tamper := range map[string]func(*memory.Realm){
		"deleted": func(r *memory.Realm) { r.Delete(slot("m1")) },
		"blanked": func(r *memory.Realm) { r.Edit(slot("m1"), func(o *codec.Object) { o.Fields.Holder = "" }) },
		"unreadable": func(r *memory.Realm) {
			r.Edit(slot("m1"), func(o *codec.Object) { o.Annotations[codec.HolderAnnotation] = "{" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a", "b")
				g.stop = 3 * time.Second
				m1 := g.join("m1", "stable", stable)
				after(30 * time.Second)
				m2 := g.join("m2", "stable", stable)
				after(10 * time.Second)
				was := m1.status["a"].Leader().Identity
				tamper(g.realm)
				after(40 * time.Second)
				for _, e := range g.names {
					if l := leaders(m1, m2)[e]; len(l) != 1 {
						t.Errorf("%s is led by %v", e, l)
					}
					if m2.status[e].Leader().Identity == was {
						t.Errorf("%s is still led under the identity whose session is gone", e)
					}
				}
				g.end(m1, m2)
			})
		})
	}
}

func TestRenewalBySessionIsRefused(t *testing.T) {
	realm := memory.New(clocktest.Bubble{})
	m, err := election.NewManager(election.Config{Group: "edge", Host: "m1", Member: election.Member{Revision: "r"}, Locks: realm.Store()})
	if err != nil {
		t.Fatal(err)
	}
	timing, _ := record.Profile("fast")
	for want, spec := range map[string]election.Spec{
		"sessions are Leases": {Locks: memory.New(clocktest.Bubble{}).Store()},
		"sessions are shared": {Timing: timing},
		"unknown renewal":     {Renewal: "daily"},
		"is being migrated":   {MigrateFrom: &election.LockRef{Lock: "old", Locks: realm.Store()}},
		"ranges are made of":  {Range: true},
		"none can fail open":  {Outage: machine.Outage{Mode: machine.OutageFailOpen}},
	} {
		spec.Name = "e"
		if spec.Renewal == "" {
			spec.Renewal = record.RenewalSession
		}
		if _, err := m.Add(spec, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not refused: %v", want, err)
		}
	}
}
