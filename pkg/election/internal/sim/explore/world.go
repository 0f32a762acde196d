package explore

import (
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// world is one state of everything. Nobody changes it once it was explored: a move works on a copy, and
// copies a process before it changes it.
type world struct {
	x *explorer
	// now is the true time in ticks.
	now int
	// stored is the lock; its record is nil if there is none.
	stored stored
	// sessions are the other objects, by name.
	sessions []kept
	// revision counts all changes of the store; revisions are the lock's revisions, ascending; uids count
	// the created objects, by the letter of their names.
	revision  uint64
	revisions []uint64
	uids      [letters]uint8
	procs     []*proc
	mine      []bool // which of procs belong to this copy
	strays    []stray
	budget    int
	// preferred is the revision that should really lead.
	preferred string
	// highest is the token of the latest term.
	highest record.Token
	// wrong is the violation, if any.
	wrong string
	trace *trace
}

type stored struct {
	record  *record.Record
	version record.Version
}

// kept is a stored session.
type kept struct {
	name string
	stored
}

// proc is one process, the host of a member of production. It is copied with its member; nobody writes to
// the elements of its slices.
type proc struct {
	incarnation int
	identity    string
	// member is nil while there is none. If again is not zero, a new one joins then, with the heritage.
	member   *member.Member
	again    record.Instant
	heritage member.Heritage
	// requests are the requests without an answer, in sending order.
	requests []request
	// streams are the member's watches, by the IDs of their stores.
	streams [2]stream
	// preferred is the preference that the member was last told.
	preferred string
	work      work
	// orphan is the deadline of the work that a dead incarnation left; zero for none.
	orphan record.Instant
	// taken is the token of the last stored take that has not started a term.
	taken record.Token

	cut, paused, dead, left bool
	// resigned: the member was told to leave. left: it has left.
	resigned bool
	// late: the process has just continued after a pause.
	late bool
	// lag is by how many ticks the process's clock is behind.
	lag int
	// live are the beats of the writes that are stored or may yet be stored, and whose outcome the member
	// does not know.
	live  []uint64
	truth truth
	// words is the process's part of the canonical form; nil if not known.
	words []word
}

// stream is a watch in use, with the events that it has yet to show. A stalled stream shows nothing for now.
type stream struct {
	watch   uint64
	stalled bool
	queue   []shown
}

// truth is what the judges know of a session; its member may not know all of it.
type truth struct {
	// beatSent is the sending time of the newest stored beat, shownSent that of the newest beat that the
	// stream has shown to the session's member.
	beatSent, shownSent record.Instant
	ended               bool
}

// phase is how far a request has come.
type phase uint8

const (
	sent      phase = iota + 1
	committed       // or, for a read, answered
	rejected
	refused
	lost // no answer will come
)

// request is a member's request to the store: a write, or if write is nil a read.
type request struct {
	id       uint64
	name     string
	purpose  machine.Purpose
	write    *record.Record
	replaces record.Version
	// beat numbers the writes to the lock; the record need not contain this number.
	beat   uint64
	phase  phase
	at     int            // true time of sending
	sent   record.Instant // the same by the member's clock
	stored stored
}

func (q *request) ofLock() bool { return q.name == election }

// shown is what a stream will show: a change of one object, a list that was requested at sent, or that the
// stream broke.
type shown struct {
	kind lock.EventKind
	// name is the name of a session; empty for the lock, and for a list.
	name   string
	stored stored
	at     int
	// For a list: when it was requested, the sessions in it, and the store's revision.
	sent     record.Instant
	sessions []kept
	revision uint64
}

// stray is a write under way that nobody waits for any more.
type stray struct {
	proc, incarnation int
	request
}

// work is the work of the present or last term.
type work struct {
	on, asked bool
	// expired: the work was killed at its deadline before it was told to stop. returned: the member is just
	// being told that the work is over, without having stopped it.
	expired, returned bool
	until             record.Instant
	// beats is the Since of the Beat effects that also extend this work; zero for none.
	beats record.Instant
	token record.Token
}

func newWorld(x *explorer) *world {
	w := &world{x: x, revision: 1, revisions: []uint64{1}, budget: x.options.Budget, preferred: revisionA, stored: stored{version: record.Version{Revision: 1}}}
	for i := range x.options.Members {
		w.procs = append(w.procs, &proc{})
		w.mine = append(w.mine, true)
		w.join(i, 0)
	}
	w.settleBeats()
	if x.options.Start == Settled {
		return w.settle()
	}
	return w
}

// settle applies moves in one fixed order until the first member has led for long.
func (w *world) settle() *world {
	budget := w.budget
	w.budget = 0
	var moves []move
	for w.now < settledAt || moves[0].kind != timePasses || !w.procs[0].leads() {
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
	*m = proc{
		incarnation: incarnation, identity: identity(i, incarnation), preferred: w.preferred, lag: m.lag, orphan: m.orphan, cut: m.cut, heritage: m.heritage,
	}
	m.member = member.New(w.x.config(i, m))
	w.step(i, member.Prefer{Preference: preference(w.preferred)}, member.Elections{Added: []*member.Election{w.x.election}})
}

// preference prefers one revision in every election.
type preference string

func (p preference) Digest() string              { return digest(string(p)) }
func (p preference) For(string) record.Preferred { return record.Prefer(string(p)) }

// lots is the members' source of chance. All its numbers are zero: there is no jitter.
type lots struct{}

func (lots) Uint64() uint64 { return 0 }

func (x *explorer) config(i int, m *proc) member.Config {
	c := member.Config{
		Group: group, Host: name(i), Identity: m.identity, Revision: revisionB, Location: record.Local,
		Timing: x.options.Timing, WritesPerSecond: member.WritesPerSecond, Chance: lots{}, Heritage: m.heritage,
	}
	switch i {
	case 0:
		c.Revision = revisionA
	case 2:
		c.Location = record.Remote
	}
	return c
}

// clone is a copy to work on.
func (w *world) clone() *world {
	c := *w
	c.procs = slices.Clone(w.procs)
	c.mine = make([]bool, len(w.procs))
	return &c
}

// edit is the process, ready to be changed.
func (w *world) edit(i int) *proc {
	if !w.mine[i] {
		m := *w.procs[i]
		if m.member != nil {
			m.member = m.member.Clone()
		}
		w.procs[i], w.mine[i] = &m, true
	}
	w.procs[i].words = nil
	return w.procs[i]
}

// local is what the member's clock shows.
func (w *world) local(i int) record.Instant {
	return startOfTime.Add(time.Duration(w.now-w.procs[i].lag) * tick)
}

func (w *world) wall() time.Time { return time.Unix(0, 0).Add(time.Duration(w.now) * tick) }

// alive says whether the process lives and is not stopped.
func (m *proc) alive() bool { return !m.dead && !m.left && !m.paused }

// running says whether the process runs and has a member.
func (m *proc) running() bool { return m.alive() && m.member != nil }

// healthy says whether nothing keeps the member from leading.
func (m *proc) healthy() bool {
	return m.alive() && !m.cut && !m.streams[0].stalled && !m.streams[1].stalled && !m.resigned
}

func (m *proc) leads() bool {
	s := m.state()
	return m.running() && s != nil && s.Role == machine.Leading && m.work.on
}

// state is the state of the machine; nil once the member owes nothing for its election.
func (m *proc) state() *machine.State {
	if m.member == nil {
		return nil
	}
	return m.member.State(electionID)
}

// step tells a member what happened, and performs its effects.
func (w *world) step(i int, in ...member.Input) {
	m, now := w.edit(i), w.local(i)
	for more := true; more && w.wrong == ""; more = len(in) > 0 {
		for _, one := range in {
			w.trace.input(one)
		}
		effects, panicked := safely(m.member, now, w.wall(), in)
		if panicked != "" {
			w.violate("%s panics: %s", name(i), panicked)
			return
		}
		in = nil
		for _, e := range effects {
			w.trace.effect(e)
			in = append(in, w.perform(i, m, now, e)...)
		}
	}
	w.trace.state(w, i)
	role := machine.Following
	if s := m.state(); s != nil {
		role = s.Role
	}
	if m.work.on && !m.work.asked != (role == machine.Leading) {
		w.violate("%s is %v, but its work says otherwise", name(i), role)
	}
	if m.member.Leaving() == machine.ReasonRestored {
		w.violate("%s wrongly believes that the store was restored", name(i))
	}
	if m.member.Over() {
		w.over(i)
	}
}

func safely(m *member.Member, now record.Instant, wall time.Time, in []member.Input) (effects []member.Effect, panicked string) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Sprint(p)
		}
	}()
	return m.Step(now, wall, in...), ""
}

// perform performs one effect of a step. It returns the input that the member is to be told at once.
func (w *world) perform(i int, m *proc, now record.Instant, effect member.Effect) []member.Input {
	switch do := effect.(type) {
	case member.Send:
		q := request{id: do.Request, name: do.Name, purpose: do.Purpose, write: do.Write, replaces: do.Replaces, phase: sent, at: w.now, sent: now}
		if q.ofLock() {
			w.judgeAsked(i, m, &q)
			if s := m.state(); s != nil { // else nobody waits for its outcome
				q.beat = s.LastBeat()
			}
		}
		if m.cut {
			q.phase = lost
		}
		m.requests = append(slices.Clip(m.requests), q)
	case member.Watch:
		s := &m.streams[do.Store.ID]
		if s.watch = do.Watch; !m.cut {
			return []member.Input{w.list(i, int(do.Store.ID))}
		}
	case member.EndWatch:
		for n := range m.streams {
			if s := &m.streams[n]; s.watch == do.Watch {
				s.watch, s.queue = 0, nil
			}
		}
		return []member.Input{member.WatchEnded{Watch: do.Watch}}
	case member.Relist: // by name, and there is one: the watch may be behind
		if !m.cut {
			return []member.Input{member.ListPassed{Watch: do.Watch, Trial: do.Trial}}
		}
	case member.Start:
		w.judgeStart(i, m, now, do)
		w.judgeGranted(i, m, do.Deadline)
		m.taken = 0
		m.work = work{on: true, until: do.Deadline, token: do.Token}
	case member.Extend:
		if m.work.beats = do.Beats; do.Beats == 0 {
			w.extend(i, m, do.Deadline)
		}
	case member.Beat:
		if m.work.on && !m.work.asked && m.work.beats == do.Since {
			w.extend(i, m, do.Deadline)
		}
	case member.Stop:
		if m.work.returned { // it returned before it was told to stop
			m.work.returned = false
			break
		}
		w.judgeStop(i, m, now, do)
		m.work.asked = true
		m.work.until = min(m.work.until, do.By)
	case member.Forgotten, member.Leads, member.Changed, member.Renewals, member.Noticed, member.Within, member.Log:
	default:
		panic(fmt.Sprintf("explore: unknown effect %T", effect))
	}
	return nil
}

// extend grants the work more time.
func (w *world) extend(i int, m *proc, until record.Instant) {
	if !m.work.on || m.work.asked || until <= m.work.until {
		w.violate("%s extends work that is not on, or not beyond what was granted", name(i))
	}
	if m.work.until <= w.local(i) {
		w.violate("%s extends work whose deadline has passed", name(i))
	}
	w.judgeGranted(i, m, until)
	m.work.until = until
}

// returns tells the member that its work is over.
func (w *world) returns(i int, why error) {
	m := w.edit(i)
	over := m.work
	m.work = work{returned: !over.asked}
	w.step(i, member.Returned{ID: electionID, Token: over.token, Err: why, Expired: over.expired})
	m.work.returned = false
}

// over ends an incarnation that is finished. A member that was not told to leave comes back.
func (w *world) over(i int) {
	m := w.edit(i)
	again, err := m.member.Again()
	if err != nil {
		w.violate("%s: %v", name(i), err)
	}
	left, cut := m.member.Heritage(), m.cut
	w.depart(i)
	if !again {
		m.left = true
		return
	}
	m.cut, m.heritage, m.again = cut, left, w.local(i).Add(left.Pause)
}

// depart ends a process's incarnation: it sends no request and gets no answer or event any more.
func (w *world) depart(i int) {
	m := w.edit(i)
	for n := range m.requests {
		w.strand(i, n)
	}
	if m.work.on {
		m.orphan = m.work.until
	}
	*m = proc{incarnation: m.incarnation, identity: m.identity, preferred: m.preferred, lag: m.lag, orphan: m.orphan}
}

// list has a stream start over with a list. It returns what tells the member that the list is about to be requested.
func (w *world) list(i, store int) member.Input {
	one := shown{kind: lock.Listed, at: w.now, sent: w.local(i), revision: w.revisions[len(w.revisions)-1]}
	if store == int(member.Own.ID) {
		one.sessions, one.revision = w.sessions, w.revision
	}
	if store == int(w.x.election.Locks.ID) {
		one.stored = w.stored
	}
	s := &w.edit(i).streams[store]
	s.queue = []shown{one}
	return member.Shown{Watch: s.watch, Event: lock.Event{Kind: lock.Listing}, At: one.sent}
}

// breaks has a stream break and start over. A process that is stopped notices once it goes on.
func (w *world) breaks(i, store int) {
	if m := w.edit(i); !m.running() || m.streams[store].stalled {
		m.streams[store].queue = []shown{{kind: lock.Broken, at: w.now}}
		return
	}
	lists := w.list(i, store)
	broken := lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown}
	w.step(i, member.Shown{Watch: w.procs[i].streams[store].watch, Event: broken, At: w.local(i)}, lists)
}

// streamShows shows a member the next thing of a stream.
func (w *world) streamShows(i, store int) {
	m := w.edit(i)
	from := &m.streams[store]
	s := from.queue[0]
	from.queue = from.queue[1:]
	if s.kind == lock.Broken {
		w.breaks(i, store)
		return
	}
	w.judgeShown(i, s)
	now := w.local(i)
	event := func(e lock.Event, at record.Instant) member.Input {
		return member.Shown{Watch: from.watch, Event: e, At: at}
	}
	if s.kind == lock.Changed {
		e := lock.Entry{Name: election, Record: s.stored.record, Version: s.stored.version}
		if s.name != "" {
			e.Name = s.name
		}
		w.step(i, event(lock.Event{Kind: lock.Changed, Entry: e}, now))
		return
	}
	list := lock.Event{Kind: lock.Listed, Revision: s.revision}
	if s.stored.record != nil {
		list.List = append(list.List, lock.Entry{Name: election, Record: s.stored.record, Version: s.stored.version})
	}
	for _, o := range s.sessions {
		list.List = append(list.List, lock.Entry{Name: o.name, Record: o.record, Version: o.version})
	}
	w.step(i, event(list, now))
}
