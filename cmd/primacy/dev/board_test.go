package dev

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/priority"
)

const (
	stable0 = "stable-0_00000001"
	canary0 = "canary-0_00000002"
)

var start0 = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// stage is a board, the locks and sessions that a test shows it, and the lines that the board returns.
type stage struct {
	t     *testing.T
	board *board
	now   time.Time
	said  []string
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, board: newBoard("edge", []status.Expected{{Election: "one", Lock: "lock-one", Kind: status.Lease}, {Election: "two", Lock: "lock-two", Kind: status.Lease}}), now: start0}
	s.event(lock.Event{Kind: lock.Listed})
	s.board.observe(status.ConfigMap, lock.Event{Kind: lock.Listed}, s.now)
	return s
}

func (s *stage) event(e lock.Event) {
	s.said = append(s.said, s.board.observe(status.Lease, e, s.now)...)
}

func (s *stage) after(d time.Duration) *stage {
	s.now = s.now.Add(d)
	return s
}

// shows gives the board an event: the watch has seen an object.
func (s *stage) shows(name string, r *record.Record) {
	s.event(lock.Event{Kind: lock.Changed, Entry: lock.Entry{Name: name, Record: r}})
}

func (s *stage) says(want ...string) {
	s.t.Helper()
	if !slices.Equal(s.said, want) {
		s.t.Errorf("said\n  %s\nwant\n  %s", strings.Join(s.said, "\n  "), strings.Join(want, "\n  "))
	}
	s.said = nil
}

// held is a record that a member holds; why is the last line of its history.
func (s *stage) held(holder string, token record.Token, transitions int, why string) *record.Record {
	revision, _, _ := strings.Cut(holder, "-")
	return &record.Record{
		Holder: holder, Duration: 5 * time.Second, Acquired: s.now, Renewed: s.now, Transitions: transitions, Token: token,
		Mark:    &record.Mark{Identity: holder, Transitions: transitions, Key: record.Key(revision), Beat: uint64(token), Duration: 5 * time.Second, Renewal: record.RenewalRecord},
		History: []record.Entry{{When: s.now, Who: holder, Why: why}}, Group: "edge", Election: "one",
	}
}

// released is the record after its holder gave it up.
func (s *stage) released(r *record.Record, why string) *record.Record {
	free := *r
	free.Holder, free.Acquired, free.Renewed = "", s.now, s.now
	free.Mark = &record.Mark{Transitions: r.Transitions, Duration: time.Second, Renewal: record.RenewalRecord}
	free.History = append(slices.Clone(r.History), record.Entry{When: s.now, Who: r.Holder, Why: "released: " + why})
	return &free
}

// session is the session of a live member.
func (s *stage) session(identity string, change func(*record.Member)) *record.Record {
	r := s.held(identity, 0, 1, "")
	revision, _, _ := strings.Cut(identity, "-")
	r.Election, r.Member = "", &record.Member{Identity: identity, Revision: revision, Location: record.Local, Ready: true}
	if change != nil {
		change(r.Member)
	}
	return r
}

func TestTransitions(t *testing.T) {
	s := newStage(t)
	first := s.held(stable0, 10, 1, "took over: free")
	s.shows("lock-one", &record.Record{})
	s.says()
	s.shows("lock-one", first)
	s.says("one: stable-0 leads token 10")
	renewed := *first
	mark := *first.Mark
	renewed.Mark, mark.Beat = &mark, 11
	s.after(time.Second).shows("lock-one", &renewed)
	s.says()

	free := s.released(first, "better member is ready")
	s.shows("lock-one", free)
	s.says()
	second := s.after(9*time.Millisecond+400*time.Microsecond).held(canary0, 20, 2, "took over: free")
	s.shows("lock-one", second)
	s.says("one: stable-0 -> canary-0 (better member is ready) token 20 after 9.4 ms")

	s.after(5*time.Second+50*time.Millisecond).shows("lock-one", s.held(stable0, 30, 3, "took over: held"))
	s.says("one: canary-0 -> stable-0 (not renewed in time) token 30 after 5.0 s")

	s.shows("unexpected", first)
	s.says()
	if s.board.moves != 3 || len(s.board.wrong) > 0 {
		t.Errorf("%d moves, wrong: %q", s.board.moves, s.board.wrong)
	}
}

// TestGapAfterADeath checks from when the time without a leader counts if a session renews the lock: from
// the holder's last beat, since the lock itself is written only once in a term.
func TestGapAfterADeath(t *testing.T) {
	s := newStage(t)
	first := s.held(stable0, 10, 1, "took over: free")
	first.Mark.Renewal, first.Mark.Session = record.RenewalSession, "primacy-edge-stable-0-0"
	s.shows("lock-one", first)
	s.said = nil
	beats := s.session(stable0, nil)
	for range 27 {
		s.after(time.Second).shows("primacy-edge-stable-0-0", beats)
	}
	ended := s.after(5*time.Second+200*time.Millisecond).released(beats, "expired")
	s.shows("primacy-edge-stable-0-0", ended)
	s.shows("primacy-edge-stable-0-0", s.session("stable-0_00000009", nil))
	s.shows("lock-one", s.held(canary0, 20, 2, "took over: orphaned"))
	s.says("one: stable-0 -> canary-0 (not renewed in time) token 20 after 5.2 s")
}

// TestNobodyLeads checks that a lock that nobody takes is reported once, after a while.
func TestNobodyLeads(t *testing.T) {
	s := newStage(t)
	first := s.held(stable0, 10, 1, "took over: free")
	s.shows("lock-one", first)
	s.shows("lock-two", first)
	s.said = nil
	s.shows("lock-one", s.released(first, "member is leaving"))
	s.shows("lock-two", nil)
	s.says("two: the lock object was deleted")
	for range 3 {
		s.after(mournAfter / 2)
		s.said = append(s.said, s.board.mourn(s.now)...)
	}
	s.says("one: nobody leads (stable-0 released it: member is leaving)", "two: nobody leads (its lock is gone)")
	s.shows("lock-two", s.held(canary0, 40, 0, ""))
	s.says("two: stable-0 -> canary-0 (lock object deleted) token 40 after 1.5 s")
}

// TestMissedTransitions checks that the board finds missed transitions and tokens that fall. It must not
// complain about changes while the watch was broken.
func TestMissedTransitions(t *testing.T) {
	s := newStage(t)
	s.shows("lock-one", s.held(stable0, 10, 1, ""))
	s.shows("lock-one", s.held(canary0, 20, 4, ""))
	s.shows("lock-one", s.held(stable0, 15, 5, ""))
	want := []string{"one: 2 transitions were not seen before token 20", "one: token 15 came after token 20"}
	if !slices.Equal(s.board.wrong, want) {
		t.Errorf("wrong: %q, want %q", s.board.wrong, want)
	}
	s.said, s.board.wrong = nil, nil
	broken := lock.Event{Kind: lock.Broken, Err: errors.New("no \x1b[2J network")}
	s.event(broken)
	s.event(broken)
	s.says(`the API server's stream broke: no \x1b[2J network`)
	s.event(lock.Event{Kind: lock.Listed, List: []lock.Entry{{Name: "lock-one", Record: s.held(canary0, 50, 9, "")}}})
	s.event(lock.Event{Kind: lock.Resumed})
	s.event(broken)
	s.says(`the API server's stream broke: no \x1b[2J network`)
	s.shows("lock-one", s.held(stable0, 60, 10, ""))
	s.says("one: canary-0 -> stable-0 (not renewed in time) token 60 after 0.0 ms")
	if len(s.board.wrong) > 0 {
		t.Errorf("wrong: %q", s.board.wrong)
	}
}

// TestHostileRecord checks that lines are safe to print: anybody who can write a lock can put any text in it.
func TestHostileRecord(t *testing.T) {
	s := newStage(t)
	evil := s.held("evil\x1b]0;owned\a\n", 10, 1, "")
	evil.Mark = nil
	s.shows("lock-one", evil)
	s.says(`one: evil\x1b]0;owned\a\n leads`)
	free := s.released(s.held(stable0, 10, 1, ""), "\x1b[31mred\u202e")
	s.shows("lock-one", free)
	s.shows("lock-one", s.held(canary0, 20, 2, ""))
	s.says(`one: evil\x1b]0;owned\a\n -> canary-0 (\x1b[31mred\u202e) token 20 after 0.0 ms`)
}

func TestMemberNews(t *testing.T) {
	s := newStage(t)
	look := func() { s.said = append(s.said, s.board.memberNews(s.now)...) }
	s.shows("primacy-edge-stable-0-0", s.session(stable0, nil))
	look()
	s.says("member stable-0 joined: revision stable, local")
	s.after(4 * time.Second)
	s.shows("primacy-edge-canary-0-0", s.session(canary0, nil))
	look()
	look()
	s.says("member canary-0 joined: revision canary, local")
	s.after(2 * time.Second)
	look()
	s.says("member stable-0 left")
	if got := newBoard("edge", nil).memberNews(s.now); got != nil {
		t.Errorf("before anything was listed: %q", got)
	}
}

func TestAmiss(t *testing.T) {
	policies := map[string]priority.Policy{"one": priority.RevisionLocation{}, "two": priority.None{}}
	canary := record.Prefer("canary")
	amiss := func(s *stage) string { return strings.Join(s.board.amiss(s.now, canary, policies), "\n") }
	led := func(s *stage) {
		s.shows("lock-one", s.held(stable0, 10, 1, ""))
		s.shows("lock-two", s.held(stable0, 11, 1, ""))
		s.shows("primacy-edge-stable-0-0", s.session(stable0, nil))
	}
	for _, tt := range []struct {
		name string
		play func(*stage)
		want string
	}{
		{"no locks", func(*stage) {}, "one: nobody leads, the lock is absent\ntwo: nobody leads, the lock is absent"},
		{"led", led, ""},
		{"released", func(s *stage) {
			led(s)
			s.shows("lock-two", s.released(s.held(stable0, 10, 1, ""), ""))
		}, "two: nobody leads, the lock is released"},
		{"not renewed", func(s *stage) {
			led(s)
			s.after(6*time.Second).shows("lock-two", s.held(stable0, 10, 1, ""))
		}, "one: stable-0 holds the lock, but does not renew it"},
		{"a better one is ready", func(s *stage) {
			led(s)
			s.shows("primacy-edge-canary-0-0", s.session(canary0, nil))
		}, "one: stable-0 leads, though canary-0 is better and ready"},
		{"a better one is not ready", func(s *stage) {
			led(s)
			s.shows("primacy-edge-canary-0-0", s.session(canary0, func(m *record.Member) { m.Ready = false }))
		}, ""},
		{"a better one fell", func(s *stage) {
			led(s)
			s.shows("primacy-edge-canary-0-0", s.session(canary0, func(m *record.Member) { m.Fallen = 1 }))
		}, ""},
		{"a better one failed at this", func(s *stage) {
			led(s)
			s.shows("primacy-edge-canary-0-0", s.session(canary0, func(m *record.Member) { m.Standing = []string{"one"} }))
		}, ""},
		{"a better one is gone", func(s *stage) {
			s.shows("primacy-edge-canary-0-0", s.session(canary0, nil))
			s.after(6 * time.Second)
			led(s)
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			tt.play(s)
			if got := amiss(s); got != tt.want {
				t.Errorf("amiss:\n%s\nwant:\n%s", got, tt.want)
			}
			if got := s.board.allLed(s.now); got != (tt.want == "" || strings.Contains(tt.want, "better")) {
				t.Errorf("allLed = %v", got)
			}
		})
	}
	if got := fmt.Sprint(newBoard("edge", nil).amiss(start0, canary, nil)); got != "[the API server has shown nothing]" {
		t.Errorf("before anything was listed: %s", got)
	}
}

// TestExpect checks that a changed configuration adds elections to the board and removes others, and that it tells who took a lock
// before the board knew its election: members may know the configuration first.
func TestExpect(t *testing.T) {
	s := newStage(t)
	s.shows("lock-one", s.held(stable0, 10, 1, ""))
	s.shows("lock-four", s.held(stable0, 10, 1, ""))
	s.said = s.board.expect("edge", []status.Expected{{Election: "one", Lock: "lock-one", Kind: status.Lease}, {Election: "three", Lock: "lock-three", Kind: status.Lease}, {Election: "four", Lock: "lock-four", Kind: status.Lease}}, s.now)
	s.says("four: stable-0 leads token 10")
	s.shows("lock-two", s.held(stable0, 20, 1, ""))
	s.shows("lock-one", s.released(s.held(stable0, 10, 1, ""), "better member is ready"))
	s.shows("lock-one", s.held(canary0, 30, 2, ""))
	s.shows("lock-three", s.held(stable0, 20, 1, ""))
	s.shows("lock-four", s.held(stable0, 10, 1, ""))
	if r := s.board.report(s.now); len(r.Elections) != 3 || !s.board.allLed(s.now) {
		t.Errorf("lock-two is gone, yet: %v", r.Elections)
	}
	s.says("one: stable-0 -> canary-0 (better member is ready) token 30 after 0.0 ms", "three: stable-0 leads token 20")
}

// TestAmissByWeight checks that, with the policy weight, the board expects a heavier member to lead. It does
// not expect a member of equal weight to lead, even one of the preferred revision.
func TestAmissByWeight(t *testing.T) {
	policies := map[string]priority.Policy{"one": priority.By(priority.ByWeight)}
	for weight, want := range map[int]string{
		100: "",
		101: "one: stable-0 leads, though canary-0 is better and ready",
	} {
		s := newStage(t)
		s.shows("lock-one", s.held(stable0, 10, 1, ""))
		s.shows("lock-two", s.held(stable0, 11, 1, ""))
		s.shows("primacy-edge-stable-0-0", s.session(stable0, func(m *record.Member) { m.Weight = 100 }))
		s.shows("primacy-edge-canary-0-0", s.session(canary0, func(m *record.Member) { m.Weight = weight }))
		if got := strings.Join(s.board.amiss(s.now, record.Prefer("canary"), policies), "\n"); got != want {
			t.Errorf("canary of weight %d: %q, want %q", weight, got, want)
		}
	}
}
