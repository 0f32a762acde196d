package machine

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestNobodyElseIsAtWork shows a member what a crowd does to a lock, in time, or late after reads of newer versions, or in lists
// after breaks. The member is judged by when the others work. Its work begins only once that of all others is over, ends once
// the stream shows that somebody else has held the lock, and begins in the end.
func TestNobodyElseIsAtWork(t *testing.T) {
	const seeds = 12_000
	began := 0
	for seed := range uint64(seeds) {
		m := watched(seed)
		began += min(1, m.started)
		if m.verdict != "" {
			t.Fatalf("seed %d: %s; sight %v, bootstrap %v\n%s", seed, m.verdict, m.e.cfg.Sight, m.e.cfg.Bootstrap, m.crowd)
		}
	}
	if began < seeds/2 {
		t.Errorf("only %d of %d began", began, seeds)
	}
}

// TestTheCrowdsJudge checks that the judge sees a member to which the stream shows nothing that others hold: it begins beside them, and
// works on.
func TestTheCrowdsJudge(t *testing.T) {
	for _, complaint := range []string{"it begins, but", "it works on, but"} {
		found := ""
		for seed := uint64(0); seed < 12_000 && !strings.Contains(found, complaint); seed++ {
			m := newWatcher(seed)
			m.blind = true
			m.run(seed)
			found = m.verdict
		}
		if !strings.Contains(found, complaint) {
			t.Errorf("%q was never found", complaint)
		}
	}
}

// watcher is the member m1 among a crowd.
type watcher struct {
	*crowd
	e       *environment
	started int // how often its work began
	took    record.Version
	verdict string
	reads   bool // it has asked for a read
	blind   bool // planted: the stream shows it nothing that others hold
	// came: it has listed the lock. shown is how much of what was written its stream has shown.
	came  bool
	shown int
	// excused: what it would have to know was written before it came, or during a break.
	excused bool
}

// watched runs one schedule.
func watched(seed uint64) *watcher {
	m := newWatcher(seed)
	m.run(seed)
	return m
}

func newWatcher(seed uint64) *watcher {
	r := rand.New(rand.NewPCG(seed, 1))
	c := newCrowd(r)
	a := arguments{"sight": one(r, []string{"with", "with", "without", "apart"}), "bootstrap": one(r, []string{"wait", "wait", "immediate"})}
	if c.shared {
		a["sharing"] = one(r, []string{"client-go", "client-go", "istio"})
		c.steals = a["sharing"] == "istio"
	}
	m := &watcher{crowd: c, e: newEnvironment(io.Discard)}
	m.e.configure("m1", a)
	c.e.cfg = m.e.cfg
	return m
}

func (m *watcher) run(seed uint64) {
	c, r := m.crowd, m.Rand
	delivery := one(r, []string{"prompt", "read", "list"})
	first := max(0, r.IntN(12)-6)
	for i := range 3 + r.IntN(3+int(seed/500)%12) {
		m.pass(c.e.now.Add(one(r, []time.Duration{time.Millisecond, time.Second, 3 * time.Second, 7 * time.Second, 16 * time.Second})))
		for range 100 {
			if c.act(m.e.state.Role == Leading) {
				break
			}
		}
		switch {
		case i < first || len(c.of) == 0:
		case !m.came:
			m.list()
		case delivery == "prompt", c.IntN(3) == 0:
			m.catchUp()
		case delivery == "list" && c.IntN(3) == 0:
			m.list()
		case c.IntN(2) == 0:
			m.see(ReadBack, c.stored())
		}
	}
	m.pass(c.e.now.Add(one(r, []time.Duration{0, time.Millisecond, time.Second, 10 * time.Second, 30 * time.Second})))
	if !m.came || delivery == "list" {
		m.list()
	}
	m.settle()
}

// settle lets calm return. Then the member must lead.
func (m *watcher) settle() {
	for end := m.crowd.e.now.Add(10 * time.Minute); m.e.state.Role != Leading && m.crowd.e.now < end; {
		m.catchUp()
		m.beat()
		m.pass(m.crowd.e.now.Add(memberLease))
	}
	r := m.crowd.e.object
	live := r != nil && r.ThroughSession() && !m.sessions[r.Mark.Session].Ended // it lasts for as long as that session
	if m.e.state.Role != Leading && !live && m.e.cfg.Sight != WithoutSessions {
		m.fail("it never leads: %s", m.e.summary())
	}
}

func (m *watcher) fail(format string, args ...any) {
	if m.verdict == "" && !m.excused {
		m.verdict = fmt.Sprintf(format, args...)
	}
}

// list shows the newest version, and not what was between.
func (m *watcher) list() {
	for _, w := range m.of[m.shown:] {
		if w.stolen || w.copied && (!m.came || w.record.Holder == "") {
			m.excused = true
		}
	}
	m.came, m.shown = true, len(m.of)
	stored := m.stored()
	if m.e.cfg.Sight != WithoutSessions {
		m.step(DirectoryChanged{View: &View{Sessions: m.sessions}})
	}
	m.see(List, stored)
	m.beat()
}

// catchUp has the stream show all that it has not shown yet.
func (m *watcher) catchUp() {
	for m.shown < len(m.of) {
		w := m.of[m.shown]
		m.shown++
		switch {
		case w.shown == nil:
			m.see(Stream, w.entry)
		case m.e.cfg.Sight != WithoutSessions:
			m.step(DirectoryChanged{View: &View{Sessions: w.shown}})
		}
	}
	m.beat()
}

// beat shows the member a beat of its own session.
func (m *watcher) beat() {
	m.e.seeBeat("us", m.e.now)
	m.step(BeatSeen{})
}

func (m *watcher) see(s Source, of entry) {
	if s == ReadBack && of.record == nil {
		of.version = record.Version{}
	}
	by := holder(of.record)
	others := s == Stream && by != "" && by != "m1"
	if !others || !m.blind {
		m.step(Observed{Source: s, Record: of.record, Version: of.version, Sent: m.e.now, Jitter: m.e.jitter})
	}
	if others && m.e.state.Role == Leading && of.version.Revision > m.took.Revision {
		m.fail("at %s it works on, but %s has held the lock", seconds(m.e.now), by)
	}
}

// pass lets time go by.
func (m *watcher) pass(to record.Instant) {
	if !m.came {
		m.e.now, m.crowd.e.now = to, to
		return
	}
	for m.e.wake != 0 && m.e.wake <= to {
		m.e.now, m.e.wake = max(m.e.now, m.e.wake), 0
		m.crowd.e.now = m.e.now
		m.step(Tick{})
	}
	m.e.now, m.crowd.e.now = to, to
}

// step gives the machine an event, and does what it asks for at once.
func (m *watcher) step(event Event) {
	cycle := m.e.state.Cycle
	m.e.readAt = 0
	m.e.step(event)
	m.reads = m.reads || m.e.readAt != 0
	if m.e.state.Cycle != cycle {
		m.starts()
	}
	switch w := m.e.pending; {
	case w != nil:
		m.e.pending = nil
		m.step(m.write(w))
	case m.e.state.Role == Draining && !m.e.state.Drain.Stopped:
		m.step(RunnersStopped{})
	case m.reads:
		m.reads = false
		m.see(ReadBack, m.stored())
	}
}

// write stores what the member wants to write, if its condition holds.
func (m *watcher) write(w *Write) WriteDone {
	done := WriteDone{Beat: w.Beat, Sent: m.e.now, Jitter: m.e.jitter, Answer: Conflicted}
	stored := m.stored().version
	if m.crowd.e.object == nil {
		stored = record.Version{}
	}
	if w.If == stored {
		r := w.Record
		r.Renewed = m.crowd.e.renewed(false)
		of := m.store(&r, "m1: "+w.Purpose.String())
		done.Answer, done.Record, done.Version = Committed, of.record, of.version
	}
	return done
}

// starts judges the start of a term.
func (m *watcher) starts() {
	m.started++
	m.took = m.e.state.Lock.Version
	for _, a := range m.actors {
		if a.works > m.e.now {
			m.fail("at %s it begins, but %s works until %s", seconds(m.e.now), a.name, seconds(a.works))
		}
	}
}
