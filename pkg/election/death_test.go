package election_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// parentOf notes what a member tells its parent, and whether the session was there already.
type parentOf struct {
	realm    *memory.Realm
	mu       sync.Mutex
	sessions []string
	late     bool
	over     []string
	err      error
	broken   chan struct{}
}

func (p *parentOf) Broken() <-chan struct{} { return p.broken }

func (p *parentOf) Expect(session, identity string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions = append(p.sessions, session)
	e := p.realm.Read(session)
	p.late = p.late || e.Record != nil && e.Record.Holder == identity
	return p.err
}

func (p *parentOf) Over(identity string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = append(p.over, identity)
	return p.err
}

const sessionOfM1 = "primacy-edge-m1-0"

// TestAParentIsToldFirst checks that a member tells its parent of a session before the session exists, once, and
// again when the session is over. Only a member with a parent accepts its proof. A parent that does not hear
// changes nothing else.
func TestAParentIsToldFirst(t *testing.T) {
	for _, deaf := range []error{nil, errors.New("deaf")} {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			parent := &parentOf{realm: g.realm, err: deaf}
			g.bend = func(c *election.Config, _ *election.Spec) { c.Parent = parent }
			m1 := g.join("m1", "stable", stable)
			g.bend = nil
			m2 := g.join("m2", "stable", stable)
			after(30 * time.Second)
			if len(parent.sessions) != 1 || parent.sessions[0] != sessionOfM1 || parent.late {
				t.Errorf("told of %v, late: %v; want one session, before it is there", parent.sessions, parent.late)
			}
			s := g.realm.Read(sessionOfM1)
			if p := s.Record.Member.Proofs; len(p) != 1 || p[0] != election.ProofParent {
				t.Errorf("with a parent it accepts the proofs %v", p)
			}
			if p := g.realm.Read("primacy-edge-m2-0").Record.Member.Proofs; len(p) != 0 {
				t.Errorf("without a parent it accepts the proofs %v", p)
			}
			if len(parent.over) != 0 {
				t.Errorf("over while it lives: %v", parent.over)
			}
			g.end(m1, m2)
			if len(parent.over) != 1 || parent.over[0] != s.Record.Holder {
				t.Errorf("over: %v, want %s", parent.over, s.Record.Holder)
			}
		})
	}
}

// TestAnOrphanLeaves checks that a member whose parent dies leaves in order, and that its Run says why.
func TestAnOrphanLeaves(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		parent := &parentOf{realm: g.realm, broken: make(chan struct{})}
		g.bend = func(c *election.Config, _ *election.Spec) { c.Parent = parent }
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		g.wantLeader("a", m1, m1)
		close(parent.broken)
		after(30 * time.Second)
		select {
		case err := <-m1.done:
			if !errors.Is(err, election.ErrOrphaned) {
				t.Errorf("Run returned %v", err)
			}
		default:
			t.Error("it stays")
			m1.leave(t)
		}
		if !g.realm.Read("a").Record.Released() || len(parent.over) != 1 {
			t.Errorf("it left without releasing its lock, or without ending its session: %v", parent.over)
		}
	})
}

// leaveBehind stores a session and a lock that it keeps, as a member leaves them that dies.
func leaveBehind(t *testing.T, g *group, proofs ...record.Proof) election.Death {
	t.Helper()
	const identity = "m1_00000001"
	lease := 15 * time.Second
	s := record.Record{
		Holder: identity, Duration: lease, Group: "edge", Mark: &record.Mark{Identity: identity, Beat: 7, Duration: lease, Renewal: record.RenewalRecord},
		Member: &record.Member{Identity: identity, Revision: "stable", Location: record.Local, Ready: true, Proofs: proofs, RenewInterval: lease / 5},
	}
	if _, err := g.realm.Write(sessionOfM1, s, record.Version{}); err != nil {
		t.Fatal(err)
	}
	l := record.Record{
		Holder: identity, Duration: 365 * 24 * time.Hour, Transitions: 1, Token: 1, Group: "edge", Election: "a",
		Mark: &record.Mark{
			Identity: identity, Transitions: 1, Beat: 1, Duration: lease,
			Renewal: record.RenewalSession, Session: sessionOfM1, SessionUID: g.realm.Read(sessionOfM1).Version.UID,
		},
	}
	if _, err := g.realm.Write("a", l, record.Version{}); err != nil {
		t.Fatal(err)
	}
	return election.Death{Proof: election.ProofParent, Identity: identity, By: "parent of m1", How: "killed", At: g.clock.Wall()}
}

// TestWhatIsBuriedIsLedAtOnce checks that the elections of a member whose death is proved are led again at once, and
// without a proof when its session has lapsed.
func TestWhatIsBuriedIsLedAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		death := leaveBehind(t, g, election.ProofParent)
		m2 := g.join("m2", "stable", stable)
		after(5 * time.Second)
		g.wantLeader("a", nil, m2)
		if err := election.Bury(t.Context(), g.realm.Store(), sessionOfM1, death); err != nil {
			t.Fatal(err)
		}
		after(10 * time.Millisecond)
		g.wantLeader("a", m2, m2)
		g.end(m2)
	})
}

// TestBury checks what Bury ends, and what it leaves alone.
func TestBury(t *testing.T) {
	for _, tt := range []struct {
		what   string
		proofs []record.Proof
		spoil  func(*election.Death, *memory.Store)
		within time.Duration
		ends   bool
		want   error
	}{
		{what: "a session of the dead", proofs: []record.Proof{election.ProofParent}, ends: true},
		{what: "a session of another", proofs: []record.Proof{election.ProofParent}, spoil: func(d *election.Death, _ *memory.Store) { d.Identity = "m1_00000002" }},
		{what: "a session that accepts no proof", want: election.ErrNotBuried},
		{
			what: "after conflicts", proofs: []record.Proof{election.ProofParent}, ends: true,
			spoil: func(_ *election.Death, s *memory.Store) {
				s.On(memory.Put, memory.Once(memory.Reject(lock.ErrConflict)))
			},
		},
		{
			what: "after a lost reply", proofs: []record.Proof{election.ProofParent}, ends: true,
			spoil: func(_ *election.Death, s *memory.Store) { s.On(memory.Put, memory.Once(memory.Lose())) },
		},
		{
			what: "while the store refuses", proofs: []record.Proof{election.ProofParent}, want: election.ErrNotBuried, within: time.Second,
			spoil: func(_ *election.Death, s *memory.Store) { s.On(memory.Put, memory.Reject(lock.ErrDenied)) },
		},
	} {
		t.Run(tt.what, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				death := leaveBehind(t, g, tt.proofs...)
				store := g.realm.Store()
				if tt.spoil != nil {
					tt.spoil(&death, store)
				}
				ctx, cancel := context.WithTimeout(t.Context(), max(tt.within, time.Minute))
				defer cancel()
				if err := election.Bury(ctx, store, sessionOfM1, death); !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				if r := g.realm.Read(sessionOfM1).Record; r.Released() != tt.ends {
					t.Errorf("ended: %v, want %v", r.Released(), tt.ends)
				}
			})
		})
	}
	t.Run("a session that is not there", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			err := election.Bury(t.Context(), g.realm.Store(), sessionOfM1, election.Death{Identity: "m1_00000001"})
			if !errors.Is(err, election.ErrNotBuried) || !strings.Contains(err.Error(), "no such session is stored") {
				t.Errorf("got %v, want that there is no such session", err)
			}
		})
	})
	for what, deleted := range map[string]bool{"a session that has ended": false, "a session that has ended, and is deleted meanwhile": true} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				death := leaveBehind(t, g, election.ProofParent)
				if err := election.Bury(t.Context(), g.realm.Store(), sessionOfM1, death); err != nil {
					t.Fatal(err)
				}
				before := g.realm.Read(sessionOfM1)
				again := make(chan error)
				go func() { again <- election.Bury(t.Context(), g.realm.Store(), sessionOfM1, death) }()
				after(500 * time.Millisecond)
				if deleted {
					g.realm.Delete(sessionOfM1)
				}
				if err := <-again; err != nil {
					t.Error(err)
				}
				if now := g.realm.Read(sessionOfM1); !deleted && now.Version != before.Version {
					t.Error("the session was written again")
				}
			})
		})
	}
	t.Run("a session that comes late", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			ended := make(chan error)
			go func() {
				ended <- election.Bury(t.Context(), g.realm.Store(), sessionOfM1, election.Death{Proof: election.ProofParent, Identity: "m1_00000001", At: g.clock.Wall()})
			}()
			after(500 * time.Millisecond)
			leaveBehind(t, g, election.ProofParent)
			if err := <-ended; err != nil || !g.realm.Read(sessionOfM1).Record.Released() {
				t.Errorf("it was not ended: %v", err)
			}
		})
	})
}
