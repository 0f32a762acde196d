package explore

import (
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// world is one state of all there is. It is not written to once it was explored: a move
// works on a copy, and copies a member before it changes it.
type world struct {
	x *explorer
	// now is the true time in ticks.
	now int
	// stored is the object; its record is nil where there is none.
	stored stored
	// sessions are the other objects, by name.
	sessions []kept
	// revision and uids count what was ever stored and created.
	revision uint64
	uids     int
	members  []*member
	mine     []bool // which of members belong to this copy
	strays   []stray
	budget   int
	// preferred is the revision that should lead, in truth.
	preferred string
	// highest is the token of the latest term.
	highest record.Token
	// wrong is what must never happen and has.
	wrong string
	trace *trace
}

type stored struct {
	record  *record.Record
	version record.Version
}

// member is one process and its part in the election. It is copied as a whole: what its
// slices hold is never written to.
type member struct {
	cfg         *machine.Config
	incarnation int
	state       machine.State
	wake        record.Instant
	write       flight
	read        reading
	queue       []shown
	// preferred and seen are what the member was told of the preference and the others.
	preferred string
	seen      []int
	work      work
	// orphan is what a dead incarnation left at work.
	orphan record.Instant
	// taken is the token of the last take that is stored and has not started a term.
	taken record.Token

	cut, stalled, paused, dead, left bool
	// resigned: it was told to leave; left: it has.
	resigned bool
	// late: it went on just now after a pause.
	late bool
	// lag is by how many ticks its clock is behind.
	lag int
	// live are the beats of writes whose outcome the member does not know and that are
	// stored, or may be yet.
	live []uint64
	life
	// words is its canonical form, where it is known.
	words []word
}

// phase is how far a request has come.
type phase uint8

const (
	none phase = iota
	sent
	committed // or, of a read, answered
	rejected
	refused
	lost // no answer will come
)

// flight is a write that waits for its answer.
type flight struct {
	phase  phase
	ask    *machine.Write
	at     int            // true time of sending
	sent   record.Instant // the same on the member's clock
	stored stored
}

type reading struct {
	phase phase
	at    int
	sent  record.Instant
	shot  stored
}

// shown is what a stream will show.
type shown struct {
	source machine.Source
	// name is that of a session; empty for the lock, and for a list.
	name   string
	stored stored
	at     int
	// Of a list: when it was sent, the sessions in it, and the store's revision.
	sent     record.Instant
	sessions []kept
	revision uint64
}

// stray is a write that nobody waits for any more, on its way.
type stray struct {
	member, incarnation int
	ask                 *machine.Write
	// session is what it is instead where it is of a session, and sent when it went out.
	session *session.Write
	sent    record.Instant
}

// work is that of the present or last term.
type work struct {
	on, asked bool
	until     record.Instant
	token     record.Token
}

func newWorld(x *explorer) *world {
	w := &world{x: x, revision: 1, budget: x.options.Budget, preferred: revisionA, stored: stored{version: record.Version{Revision: 1}}}
	for i := range x.options.Members {
		w.members = append(w.members, &member{})
		w.mine = append(w.mine, true)
		w.join(i, 0)
	}
	for i := range w.members {
		if !w.throughSessions() {
			w.hear(i)
		}
	}
	if x.options.Start == Settled {
		return w.settle()
	}
	return w
}

// settle lets all go its way, in one order, until the first member has led for long.
func (w *world) settle() *world {
	budget := w.budget
	w.budget = 0
	var moves []move
	for w.now < settledAt || moves[0].kind != timePasses || !w.members[0].leads() {
		moves = w.moves(moves)
		w = w.apply(moves[0])
		if w.wrong != "" || w.now > 2*settledAt {
			w.violate("does not settle")
			break
		}
	}
	w.budget = budget
	return w
}

// join begins an incarnation.
func (w *world) join(i, incarnation int) {
	m := w.edit(i)
	lag, orphan, cut := m.lag, m.orphan, m.cut
	*m = member{
		incarnation: incarnation, cfg: w.x.config(i, incarnation), state: machine.Initial(), preferred: w.preferred,
		lag: lag, orphan: orphan, cut: cut, seen: slices.Repeat([]int{gone}, len(w.members)),
	}
	// Beats are unique over all incarnations, so that their order among those of one is
	// all that there is to them.
	m.state.Beat = beatsOf(i, incarnation)
	if w.throughSessions() {
		w.enroll(i)
	}
	w.step(i, machine.PreferenceChanged{Preferred: record.Prefer(w.preferred), Digest: digest(w.preferred)})
	if !cut {
		w.relist(i)
	}
}

// hear tells the member of the others.
func (w *world) hear(i int) {
	m := w.edit(i)
	m.seen = w.truth(i)
	w.step(i, machine.DirectoryChanged{View: w.x.view(m.seen)})
}

func beatsOf(i, incarnation int) uint64 { return uint64(i<<4+incarnation+1) << 32 } // #nosec G115 -- small

func (x *explorer) config(i, incarnation int) *machine.Config {
	id := [2]int{i, incarnation}
	c := x.configs[id]
	if c == nil {
		c = &machine.Config{
			Election: election, Group: group, Member: published(i, incarnation, revisionA), Timing: x.options.Timing,
			Policy: priority.RevisionLocation{}, Bootstrap: machine.BootstrapWait, Renewal: x.options.Renewal,
		}
		x.configs[id] = c
	}
	return c
}

// clone is a copy to work on.
func (w *world) clone() *world {
	c := *w
	c.members = slices.Clone(w.members)
	c.mine = make([]bool, len(w.members))
	return &c
}

// edit is the member, to be changed.
func (w *world) edit(i int) *member {
	if !w.mine[i] {
		m := *w.members[i]
		if m.own != nil {
			m.dir = m.dir.Clone()
			m.own = m.own.Clone(m.dir)
		}
		w.members[i], w.mine[i] = &m, true
	}
	w.members[i].words = nil
	return w.members[i]
}

// local is what the member's clock shows.
func (w *world) local(i int) record.Instant {
	return startOfTime.Add(time.Duration(w.now-w.members[i].lag) * tick)
}

// running says whether the member's process takes in events.
func (m *member) running() bool { return !m.dead && !m.left && !m.paused }

// healthy says whether nothing keeps the member from leading.
func (m *member) healthy() bool {
	return m.running() && !m.cut && !m.stalled && (!m.resigned || m.ending != "")
}

func (m *member) leads() bool { return m.running() && m.state.Role == machine.Leading && m.work.on }

// truth is what a directory should show.
func (w *world) truth(i int) []int {
	seen := make([]int, len(w.members))
	for j, m := range w.members {
		seen[j] = m.incarnation << 1
		if m.preferred == revisionB {
			seen[j]++
		}
		if j == i || m.dead || m.left {
			seen[j] = gone
		}
	}
	return seen
}

// step puts an event to a machine and does what it says.
func (w *world) step(i int, e machine.Event) {
	if w.wrong != "" {
		return
	}
	m := w.edit(i)
	now := w.local(i)
	cfg := *m.cfg
	if m.own != nil {
		cfg.ProvenAt = m.own.ProvenAt()
		if seen, is := e.(machine.BeatSeen); is {
			m.told = seen.Sent
		} else if m.told < m.beat.Sent {
			w.step(i, m.beat)
		}
	}
	w.trace.event(w, i, e)
	next, actions, panicked := safely(&cfg, m.state, now, e)
	if panicked != "" {
		w.violate("%s panics: %s", name(i), panicked)
		return
	}
	m.state = next
	for _, a := range actions {
		w.trace.action(a)
		w.do(i, m, now, a)
	}
	w.trace.state(w, i)
	if m.work.on && !m.work.asked != (next.Role == machine.Leading) {
		w.violate("%s is %v, but its work says otherwise", name(i), next.Role)
	}
}

func safely(cfg *machine.Config, before machine.State, now record.Instant, e machine.Event) (next machine.State, actions []machine.Action, panicked string) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Sprint(p)
		}
	}()
	next, actions = machine.Step(*cfg, before, now, e)
	return next, actions, ""
}

func (w *world) do(i int, m *member, now record.Instant, action machine.Action) {
	switch a := action.(type) {
	case machine.Write:
		w.judgeAsked(i, m, &a)
		m.write = flight{phase: sent, ask: &a, at: w.now, sent: now}
		if m.cut {
			m.write.phase = lost
		}
	case machine.Read:
		if m.read.phase != none {
			w.violate("%s reads twice at once", name(i))
		}
		m.read = reading{phase: sent, at: w.now, sent: now}
		if m.cut {
			m.read.phase = lost
		}
	case machine.Start:
		w.judgeStart(i, m, now, a)
		w.judgeGranted(i, m, a.Deadline)
		m.taken = 0
		m.work = work{on: true, until: a.Deadline, token: a.Token}
	case machine.Extend:
		if !m.work.on || m.work.asked || a.Deadline <= m.work.until {
			w.violate("%s extends work that is not on, or not beyond what was granted", name(i))
		}
		w.judgeGranted(i, m, a.Deadline)
		m.work.until = a.Deadline
	case machine.Stop:
		w.judgeStop(i, m, now, a)
		m.work.asked = true
		m.work.until = min(m.work.until, a.By)
	case machine.WakeAt:
		if a.At != 0 && a.At <= now {
			w.violate("%s wants to be woken up in the past", name(i))
		}
		m.wake = a.At
	case machine.EndSession:
		if a.Reason == machine.ReasonRestored {
			w.violate("%s takes the store for a restored one", name(i))
		}
		if m.ending == "" {
			m.ending = a.Reason
		}
	case machine.Disown:
		// Its members are of a version that does not heed that, so the session ends.
		if m.ending == "" {
			m.ending = machine.ReasonHeldOn
		}
	case machine.Report:
	default:
		panic(fmt.Sprintf("explore: unknown action %T", action))
	}
}

// commit makes a record, or nil for its absence, what is stored, and has streams show it.
func (w *world) commit(r *record.Record) {
	before := w.stored
	w.revision++
	v := record.Version{Revision: w.revision}
	if r != nil {
		v.UID = before.version.UID
		if before.record == nil {
			w.uids++
			v.UID = fmt.Sprintf("u%d", w.uids)
		}
	}
	w.stored = stored{record: r, version: v}
	w.show(shown{source: machine.Stream, stored: w.stored, at: w.now})
}

// show has all streams show a change.
func (w *world) show(s shown) {
	for i, m := range w.members {
		if m.dead || m.left || m.cut {
			continue
		}
		if w.showAtOnce(i, s) {
			continue
		}
		if len(m.queue) >= w.x.maxQueue() {
			w.relist(i)
			continue
		}
		m = w.edit(i)
		m.queue = append(slices.Clip(m.queue), s)
	}
}

// relist makes a stream start over with a list.
func (w *world) relist(i int) {
	w.edit(i).queue = []shown{{source: machine.List, stored: w.stored, at: w.now, sent: w.local(i), sessions: w.sessions, revision: w.revision}}
}

// put carries out a write, if its condition holds.
func (w *world) put(i, incarnation int, a *machine.Write) bool {
	current := w.stored.version
	if w.stored.record == nil {
		current = record.Version{}
	}
	if a.If != current {
		return false
	}
	w.judgeStored(i, incarnation, a)
	r := a.Record
	w.commit(&r)
	return true
}

// may says whether a write can still be carried out some day.
func (w *world) may(s stray) bool {
	if s.session != nil {
		return s.session.If == w.session(s.session.Name).version || s.session.If.IsZero() && w.budget > 0 && slices.Contains(w.x.options.Faults, DeleteSession)
	}
	a := s.ask
	if a.If == (record.Version{}) {
		return w.stored.record == nil || w.budget > 0 && slices.Contains(w.x.options.Faults, Delete)
	}
	return w.stored.record != nil && a.If == w.stored.version
}
