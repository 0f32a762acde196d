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
// it is shown that somebody else has held the lock, and begins in the end.
func TestNobodyElseIsAtWork(t *testing.T) {
	const seeds = 14_400 // one in six has no strangers
	var all tally
	for seed := range uint64(seeds) {
		m := newNewcomer(seed)
		m.run(seed)
		all.add(m.tally)
		if m.verdict != "" {
			t.Fatalf("seed %d: %s; sight %v, bootstrap %v\n%s", seed, m.verdict, m.e.cfg.Sight, m.e.cfg.Bootstrap, m.crowd)
		}
	}
	t.Logf("%+v", all)
	if all.close < seeds/4 || all.late < 10 || all.excused > seeds/4 {
		t.Errorf("it is hardly tested: %+v", all)
	}
}

// tally says what was tested.
type tally struct {
	started int // terms
	close   int // of them, those that began within a minute of another's work
	late    int // how often it was shown late, in a term, that another had held the lock
	excused int // lists that hid what it would have to know
}

func (t *tally) add(o tally) {
	t.started, t.close, t.late, t.excused = t.started+o.started, t.close+o.close, t.late+o.late, t.excused+o.excused
}

// TestTheCrowdsJudge checks that the judge sees a member to which the stream shows nothing that others hold: it begins beside them, and
// works on.
func TestTheCrowdsJudge(t *testing.T) {
	for _, complaint := range []string{"it begins, but", "it works on, but"} {
		found := ""
		for seed := uint64(0); seed < 12_000 && !strings.Contains(found, complaint); seed++ {
			m := newNewcomer(seed)
			m.blind = true
			m.run(seed)
			found = m.verdict
		}
		if !strings.Contains(found, complaint) {
			t.Errorf("%q was never found", complaint)
		}
	}
}

// newcomer is the member m1 among a crowd.
type newcomer struct {
	*crowd
	e       *environment // the machine's
	took    record.Version
	verdict string
	tally   tally
	reads   bool           // it has asked for a read
	stopsAt record.Instant // its work has stopped then; zero if none is to stop
	blind   bool           // planted: the stream shows it nothing that others hold
	// came: it has listed the lock. shown is how much of the past its stream has shown.
	came  bool
	shown int
}

func newNewcomer(seed uint64) *newcomer {
	r := rand.New(rand.NewPCG(seed, 1))
	c := newCrowd(r)
	a := arguments{
		"sight": one(r, []string{"with", "with", "without", "apart"}), "bootstrap": one(r, []string{"wait", "wait", "immediate"}),
		"renewal": one(r, []string{"record", "unlessForeign"}),
	}
	if c.shared {
		a["sharing"] = one(r, []string{"client-go", "client-go", "istio"})
		c.steals = a["sharing"] == "istio"
	}
	if c.shared && seed%4 == 0 {
		c.brief, a["foreignWait"] = true, briefly.String()
	}
	m := &newcomer{crowd: c, e: newEnvironment(io.Discard)}
	m.e.configure("m1", a)
	c.store.cfg = m.e.cfg
	return m
}

// run runs one schedule.
func (m *newcomer) run(seed uint64) {
	r := m.Rand
	delivery := one(r, []string{"prompt", "read", "list"})
	if m.brief {
		delivery = "read"
	}
	first := max(0, r.IntN(12)-6)
	for i := range 3 + r.IntN(3+int(seed/500)%12) {
		m.pass(m.store.now.Add(one(r, []time.Duration{time.Millisecond, time.Second, 3 * time.Second, 7 * time.Second, 16 * time.Second})))
		for range 100 {
			if m.act() {
				break
			}
		}
		if by := holder(m.newest().record); m.e.state.Role == Leading && by != "" && by != "m1" && delivery == "read" {
			m.putBackOf("m1")
			m.see(ReadBack, m.newest())
			continue
		}
		switch {
		case i < first || len(m.past) == 0:
		case !m.came:
			m.list()
		case m.e.state.Role == Following && r.IntN(16) == 0:
			m.exchange()
		case delivery == "prompt", r.IntN(3) == 0:
			m.catchUp()
		case delivery == "list" && r.IntN(3) == 0:
			m.list()
		case r.IntN(2) == 0:
			m.see(ReadBack, m.newest())
		}
	}
	m.pass(m.store.now.Add(one(r, []time.Duration{0, time.Millisecond, time.Second, 10 * time.Second, 30 * time.Second})))
	if !m.came || delivery == "list" {
		m.list()
	}
	m.settle()
}

// settle lets calm return. Then the member must lead.
func (m *newcomer) settle() {
	for end := m.store.now.Add(10 * time.Minute); m.e.state.Role != Leading && m.store.now < end; {
		m.catchUp()
		m.beat()
		m.pass(m.store.now.Add(memberLease / 3))
	}
	r := m.store.object
	lives := holder(r) != "" && r.ThroughSession() && (m.e.cfg.Sight == WithoutSessions || !m.sessions[r.Mark.Session].Ended)
	if m.e.state.Role != Leading && !lives {
		m.fail("it never leads: %s", m.e.summary())
	}
}

func (m *newcomer) fail(format string, args ...any) {
	if m.verdict == "" {
		m.verdict = fmt.Sprintf(format, args...)
	}
}

// list shows the newest version, and not what was between. If a stranger put a release back, or a foreign elector did not wait, the
// member cannot know who is at work; nor can it, before it came, if a stranger put back any record.
func (m *newcomer) list() {
	hides := false
	for _, w := range m.past[m.shown:] {
		hides = hides || w.stolen || w.copied && (!m.came || w.record.Holder == "")
	}
	if hides {
		m.tally.excused++
		for _, a := range m.actors {
			a.unseen = a.works
		}
	}
	m.came, m.shown = true, len(m.past)
	newest := m.newest()
	if m.e.cfg.Sight != WithoutSessions {
		m.step(DirectoryChanged{View: &View{Sessions: m.sessions}})
	}
	m.see(List, newest)
	m.beat()
}

// exchange gives the member its election anew, as a reload does, or its return as another incarnation.
func (m *newcomer) exchange() {
	if m.IntN(4) > 0 {
		m.catchUp()
	}
	m.e.exchange("")
	m.reads, m.came = false, false
	m.list()
}

// catchUp has the stream show all that it has not shown yet.
func (m *newcomer) catchUp() {
	for m.shown < len(m.past) {
		w := m.past[m.shown]
		m.shown++
		switch {
		case w.sessions == nil:
			m.see(Stream, w.entry)
		case m.e.cfg.Sight != WithoutSessions:
			m.step(DirectoryChanged{View: &View{Sessions: w.sessions}})
		}
	}
	m.beat()
}

// beat shows the member a beat of its own session.
func (m *newcomer) beat() {
	m.e.seeBeat("us", m.e.now)
	m.step(BeatSeen{})
}

func (m *newcomer) see(s Source, of entry) {
	if s == ReadBack && of.record == nil {
		of.version = record.Version{}
	}
	by := holder(of.record)
	others := by != "" && by != "m1" && of.version.Revision > m.took.Revision
	if others && m.e.state.Role == Leading && of.version.Revision < m.e.state.Lock.Version.Revision {
		m.tally.late++
	}
	if !others || !m.blind || s != Stream {
		m.step(Observed{Source: s, Record: of.record, Version: of.version, Sent: m.e.now, Jitter: m.e.jitter})
	}
	if others && m.e.state.Role == Leading && of.version.Revision > m.took.Revision {
		m.fail("at %s it works on, but %s has held the lock", seconds(m.e.now), by)
	}
}

// pass lets time go by.
func (m *newcomer) pass(to record.Instant) {
	for m.came {
		wakes := m.e.wake != 0 && m.e.wake <= to && (m.stopsAt == 0 || m.e.wake < m.stopsAt)
		switch {
		case wakes:
			m.at(max(m.e.now, m.e.wake))
			m.e.wake = 0
			m.step(Tick{})
			continue
		case m.stopsAt != 0 && m.stopsAt <= to:
			m.at(max(m.e.now, m.stopsAt))
			m.stopsAt = 0
			m.step(RunnersStopped{})
			continue
		}
		break
	}
	m.at(to)
}

func (m *newcomer) at(now record.Instant) { m.e.now, m.store.now = now, now }

// step gives the machine an event, and does what it asks for at once.
func (m *newcomer) step(event Event) {
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
	case m.e.state.Role == Draining && !m.e.state.Drain.Stopped && m.stopsAt == 0:
		m.stopsAt = m.e.now.Add(one(m.Rand, []time.Duration{0, time.Millisecond, time.Second, 3 * time.Second}))
	case m.reads:
		m.reads = false
		m.see(ReadBack, m.newest())
	}
}

// write stores what the member wants to write, if its condition holds. Sometimes no answer comes.
func (m *newcomer) write(w *Write) WriteDone {
	done := WriteDone{Beat: w.Beat, Sent: m.e.now, Jitter: m.e.jitter, Answer: Conflicted}
	newest := m.newest().version
	if m.store.object == nil {
		newest = record.Version{}
	}
	unknown := m.IntN(16) == 0
	if w.If == newest && (!unknown || m.IntN(2) == 0) {
		r := w.Record
		r.Renewed = m.store.renewed(false)
		of := m.put(&r, "m1: "+w.Purpose.String())
		done.Answer, done.Record, done.Version = Committed, of.record, of.version
	}
	if unknown {
		done.Answer, done.Record, done.Version = Unknown, nil, record.Version{}
	}
	return done
}

// starts judges the start of a term.
func (m *newcomer) starts() {
	m.tally.started++
	m.took = m.e.state.Lock.Version
	near := false
	for _, a := range m.actors {
		near = near || a.works != 0 && m.e.now.Sub(a.works) < time.Minute
		if a.works > max(m.e.now, a.unseen) {
			m.fail("at %s it begins, but %s works until %s", seconds(m.e.now), a.name, seconds(a.works))
		}
	}
	if near {
		m.tally.close++
	}
}
