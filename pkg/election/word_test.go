package election_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// spoken stores the session and the lock of a member that is gone, and returns the session as it is seen then, with
// the word of an operator that the member is dead.
func spoken(t *testing.T, g *group, proofs ...record.Proof) (lock.Entry, election.Death) {
	t.Helper()
	d := leaveBehind(t, g, proofs...)
	s := g.realm.Read(sessionOfM1)
	r, m := *s.Record, *s.Record.Member
	m.RenewInterval = 3 * time.Second
	r.Member = &m
	if _, err := g.realm.Write(sessionOfM1, r, s.Version); err != nil {
		t.Fatal(err)
	}
	d.Proof, d.By, d.How = election.ProofOperator, "operator", "the machine was switched off"
	return g.realm.Read(sessionOfM1), d
}

// beats stores the next beat of the session.
func beats(t *testing.T, g *group) {
	t.Helper()
	s := g.realm.Read(sessionOfM1)
	r, mark := *s.Record, *s.Record.Mark
	mark.Beat++
	r.Mark = &mark
	if _, err := g.realm.Write(sessionOfM1, r, s.Version); err != nil {
		t.Fatal(err)
	}
}

// twoIntervals are two renewIntervals of the session that spoken stores, by a clock that is fast.
const twoIntervals = 6 * time.Second * 1005 / 1000

// TestAWordNeedsSilence checks that a word ends a session, once that was silent for two renewIntervals and not
// earlier. Another member then leads at once.
func TestAWordNeedsSilence(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		seen, word := spoken(t, g, election.ProofOperator)
		m2 := g.join("m2", "stable", stable)
		buried := make(chan error, 1)
		go func() { buried <- election.BuryOnWord(t.Context(), g.clock, g.realm.Store(), seen, word) }()
		after(twoIntervals - time.Millisecond)
		if g.realm.Read(sessionOfM1).Record.Released() {
			t.Fatal("it ended before two renewIntervals were over")
		}
		g.wantLeader("a", nil, m2)
		if err := <-buried; err != nil {
			t.Fatal(err)
		}
		after(10 * time.Millisecond)
		g.wantLeader("a", m2, m2)
		r := g.realm.Read(sessionOfM1).Record
		d := r.Member.Deaths[0]
		if d.Proof != election.ProofOperator || d.By != "operator" || d.Beat != 7 || !strings.Contains(d.How, "switched off, and was silent for 6.") {
			t.Errorf("the end says %+v", d)
		}
		g.end(m2)
	})
}

// between is a store on which something happens before each write.
type between struct {
	lock.Store
	first func()
}

func (b *between) Put(ctx context.Context, name string, r record.Record, replaces record.Version) (record.Version, error) {
	b.first()
	return b.Store.Put(ctx, name, r, replaces)
}

// aMinute is a context that ends after a minute.
func aMinute(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestAWordIsRefuted checks that no word ends a session that changes after the word, however late the change comes.
func TestAWordIsRefuted(t *testing.T) {
	for _, tt := range []struct {
		what string
		at   time.Duration
		act  func(*testing.T, *group)
	}{
		{"it beats at once", time.Millisecond, beats},
		{"it beats at the last moment", twoIntervals - time.Millisecond, beats},
		{"its session is edited", time.Second, func(t *testing.T, g *group) {
			s := g.realm.Read(sessionOfM1)
			r := *s.Record
			r.Group = "other"
			if _, err := g.realm.Write(sessionOfM1, r, s.Version); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				seen, word := spoken(t, g, election.ProofOperator)
				buried := make(chan error, 1)
				go func() { buried <- election.BuryOnWord(aMinute(t), g.clock, g.realm.Store(), seen, word) }()
				after(tt.at)
				tt.act(t, g)
				if err := <-buried; !errors.Is(err, election.ErrRefuted) || !errors.Is(err, election.ErrNotBuried) {
					t.Errorf("got %v, want that its member lives", err)
				}
				after(time.Minute)
				if g.realm.Read(sessionOfM1).Record.Released() {
					t.Error("it was ended")
				}
				if err := election.BuryOnWord(aMinute(t), g.clock, g.realm.Store(), seen, word); !errors.Is(err, election.ErrRefuted) {
					t.Errorf("the same word again: %v", err)
				}
			})
		})
	}
	t.Run("it beats before the write", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			seen, word := spoken(t, g, election.ProofOperator)
			store := &between{Store: g.realm.Store(), first: func() { beats(t, g) }}
			err := election.BuryOnWord(aMinute(t), g.clock, store, seen, word)
			if !errors.Is(err, election.ErrRefuted) || g.realm.Read(sessionOfM1).Record.Released() {
				t.Errorf("got %v, want that its member lives", err)
			}
		})
	})
	t.Run("its member lives", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			g.bend = func(c *election.Config, _ *election.Spec) { c.Proofs = []election.Proof{election.ProofOperator} }
			m1 := g.join("m1", "stable", stable)
			after(time.Minute)
			seen := g.realm.Read(sessionOfM1)
			word := election.Death{Proof: election.ProofOperator, Identity: seen.Record.Holder, By: "operator", At: g.clock.Wall()}
			if err := election.BuryOnWord(aMinute(t), g.clock, g.realm.Store(), seen, word); !errors.Is(err, election.ErrRefuted) {
				t.Errorf("got %v, want that its member lives", err)
			}
			after(time.Minute)
			g.wantLeader("a", m1, m1)
			g.end(m1)
		})
	})
}

// outOfReach is a store that cannot be read at first. It answers with an error at once, or hangs and then answers.
type outOfReach struct {
	lock.Store
	until time.Time
	hangs bool
}

func (a *outOfReach) Get(ctx context.Context, name string) (lock.Entry, error) {
	switch rest := time.Until(a.until); {
	case rest > 0 && a.hangs:
		clock.Wait(ctx, rest)
	case rest > 0:
		return lock.Entry{}, lock.ErrUnknown
	}
	return a.Store.Get(ctx, name)
}

// TestAnOutageIsNoSilence checks that a session is not ended because nobody could write it.
func TestAnOutageIsNoSilence(t *testing.T) {
	for _, tt := range []struct {
		what   string
		outage time.Duration
		hangs  bool
	}{
		{"reads fail for long", 2 * twoIntervals, false},
		{"reads fail for a second", time.Second, false},
		{"a read hangs", 2 * twoIntervals, true},
	} {
		t.Run(tt.what, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				seen, word := spoken(t, g, election.ProofOperator)
				store := &outOfReach{Store: g.realm.Store(), until: time.Now().Add(tt.outage), hangs: tt.hangs}
				buried := make(chan error, 1)
				go func() { buried <- election.BuryOnWord(aMinute(t), g.clock, store, seen, word) }()
				after(tt.outage + twoIntervals - time.Millisecond)
				if g.realm.Read(sessionOfM1).Record.Released() {
					t.Error("it was ended less than two renewIntervals after the outage")
				}
				if err := <-buried; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestWhatNoWordEnds checks the words that do not count, and what is done in spite of faults.
func TestWhatNoWordEnds(t *testing.T) {
	operator := []record.Proof{election.ProofOperator}
	for _, tt := range []struct {
		what   string
		proofs []record.Proof
		spoil  func(*lock.Entry, *election.Death, *memory.Store)
		want   string
		ends   bool
	}{
		{what: "all is well", proofs: operator, ends: true},
		{what: "a session that lists no proof", want: "does not accept proofs of kind operator"},
		{what: "a session that lists another proof", proofs: []record.Proof{election.ProofParent}, want: "does not accept"},
		{
			what: "a member of another name", proofs: operator, want: "not of m1_00000002",
			spoil: func(_ *lock.Entry, d *election.Death, _ *memory.Store) { d.Identity = "m1_00000002" },
		},
		{
			what: "a proof that is no word", proofs: []record.Proof{election.ProofParent}, want: "is no word",
			spoil: func(_ *lock.Entry, d *election.Death, _ *memory.Store) { d.Proof = election.ProofParent },
		},
		{
			what: "a session that does not say how often it beats", proofs: operator, want: "how often",
			spoil: func(e *lock.Entry, _ *election.Death, _ *memory.Store) {
				r, m := *e.Record, *e.Record.Member
				m.RenewInterval = 0
				r.Member, e.Record = &m, &r
			},
		},
		{
			what: "a session that is not there", proofs: operator, want: "does not exist",
			spoil: func(e *lock.Entry, _ *election.Death, _ *memory.Store) { e.Record = nil },
		},
		{
			what: "after a lost reply", proofs: operator, ends: true,
			spoil: func(_ *lock.Entry, _ *election.Death, s *memory.Store) { s.On(memory.Put, memory.Once(memory.Lose())) },
		},
		{
			what: "after reads that fail", proofs: operator, ends: true,
			spoil: func(_ *lock.Entry, _ *election.Death, s *memory.Store) { s.On(memory.Get, memory.Once(memory.Lose())) },
		},
		{
			what: "while reads fail", proofs: operator, want: "deadline exceeded",
			spoil: func(_ *lock.Entry, _ *election.Death, s *memory.Store) { s.On(memory.Get, memory.Lose()) },
		},
	} {
		t.Run(tt.what, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				seen, word := spoken(t, g, tt.proofs...)
				store := g.realm.Store()
				if tt.spoil != nil {
					tt.spoil(&seen, &word, store)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := election.BuryOnWord(ctx, g.clock, store, seen, word)
				if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, election.ErrNotBuried) || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				if got := g.realm.Read(sessionOfM1).Record.Released(); got != tt.ends {
					t.Errorf("ended: %v, want %v", got, tt.ends)
				}
			})
		})
	}
	t.Run("without a silence", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			seen, word := spoken(t, g, operator...)
			word.UID, word.Beat = seen.Version.UID, seen.Record.Mark.Beat
			if err := election.Bury(t.Context(), g.realm.Store(), sessionOfM1, word); !errors.Is(err, election.ErrNotBuried) || g.realm.Read(sessionOfM1).Record.Released() {
				t.Errorf("Bury took a word: %v", err)
			}
		})
	})
}

// TestASessionThatAcceptsWordsSaysHowOftenItBeats checks what sessions publish for the operator's word, and that no
// other kind can be configured as a word.
func TestASessionThatAcceptsWordsSaysHowOftenItBeats(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = func(c *election.Config, _ *election.Spec) { c.Proofs = []election.Proof{election.ProofOperator} }
		m1 := g.join("m1", "stable", stable)
		g.bend = nil
		m2 := g.join("m2", "stable", stable)
		after(10 * time.Second)
		if m := g.realm.Read(sessionOfM1).Record.Member; m.RenewInterval != 3*time.Second || len(m.Proofs) != 1 {
			t.Errorf("it beats every %v, and accepts %v", m.RenewInterval, m.Proofs)
		}
		if m := g.realm.Read("primacy-edge-m2-0").Record.Member; m.RenewInterval != 0 || len(m.Proofs) != 0 {
			t.Errorf("without words it beats every %v, and accepts %v", m.RenewInterval, m.Proofs)
		}
		g.end(m1, m2)
		for _, words := range [][]election.Proof{{election.ProofParent}, {"hearsay"}, {election.ProofOperator, election.ProofOperator}} {
			c := election.Config{Group: "edge", Member: election.Member{Revision: "a"}, Locks: g.realm.Store(), Host: "m", Proofs: words}
			if _, err := election.NewManager(c); err == nil {
				t.Errorf("it takes %v for words", words)
			}
		}
	})
}

// TestAnIdentityIsAnnouncedFirst checks that a member announces the identity of each incarnation before its session
// exists, and that its session names its container. Without both, no kubelet's word can be configured.
func TestAnIdentityIsAnnouncedFirst(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		box := record.Container{Namespace: "edge", Pod: "m1", PodUID: "u", Name: "primacy", ID: "containerd://1"}
		var mu sync.Mutex
		var announced []string
		late := false
		g.bend = func(c *election.Config, _ *election.Spec) {
			c.Proofs, c.Container = []election.Proof{election.ProofKubelet}, box
			c.Announce = func(identity string) error {
				mu.Lock()
				defer mu.Unlock()
				announced = append(announced, identity)
				e := g.realm.Read(sessionOfM1)
				late = late || e.Record != nil && e.Record.Holder == identity
				return errors.New("no such file") // the member goes on
			}
		}
		m1 := g.join("m1", "stable", stable)
		after(10 * time.Second)
		first := g.realm.Read(sessionOfM1)
		if first.Record.Member.Container != box {
			t.Errorf("the session names the container %+v", first.Record.Member.Container)
		}
		stolen := *first.Record
		stolen.Holder, stolen.Mark = "", &record.Mark{Beat: first.Record.Mark.Beat + 1, Duration: 15 * time.Second, Renewal: record.RenewalRecord}
		if _, err := g.realm.Write(sessionOfM1, stolen, first.Version); err != nil {
			t.Fatal(err)
		}
		after(time.Minute)
		second := g.realm.Read(sessionOfM1)
		if len(announced) != 2 || announced[0] != first.Record.Holder || announced[1] != second.Record.Holder || late {
			t.Errorf("announced %v, late: %v", announced, late)
		}
		g.end(m1)
		announce := func(string) error { return nil }
		for _, c := range []election.Config{
			{Proofs: []election.Proof{election.ProofKubelet}, Announce: announce},
			{Proofs: []election.Proof{election.ProofKubelet}, Container: box},
			{Proofs: []election.Proof{election.ProofOutOfService}},
		} {
			c.Group, c.Member, c.Locks, c.Host = "edge", election.Member{Revision: "a"}, g.realm.Store(), "m"
			if _, err := election.NewManager(c); err == nil {
				t.Errorf("without container or announcement it takes the words %v", c.Proofs)
			}
		}
	})
}

// TestAWordThatIsDenied checks that BuryOnWord gives up at once where it may not write: it must not pass for the one who
// ended the session when another member does.
func TestAWordThatIsDenied(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		seen, word := spoken(t, g, election.ProofOperator)
		store := &refusing{Store: g.realm.Store(), err: lock.ErrDenied}
		err := election.BuryOnWord(aMinute(t), g.clock, store, seen, word)
		if n := store.puts.Load(); !errors.Is(err, lock.ErrDenied) || !errors.Is(err, election.ErrNotBuried) || n != 1 {
			t.Errorf("got %v after %d writes, want a denial after one", err, n)
		}
	})
}
