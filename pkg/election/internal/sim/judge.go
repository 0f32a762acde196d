package sim

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// judge objects to whatever must never happen. It knows the truth: real time, the store, and the work
// itself. After a restore of the store it cannot tell what is an overlap or a falling token, so it does
// not judge those.
type judge struct {
	w *world
	// working is the work that has begun and not ended, by election.
	working [][]*work
	// startedToken is the highest token of a started term, storedToken the highest of a stored take or claim.
	startedToken []record.Token
	storedToken  map[string]record.Token // by lock
	// spans are the ranges of each election's terms.
	spans [][]span
	// taker is the contest that took each lock last, and writer the one that wrote it last.
	taker, writer map[string]*contest
	// identities are all identities that were ever used.
	identities []string
	members    map[string]*memberFile
	// beats is the last beat of each lock's holder, and handedOn what the dead handed on, by election.
	beats    map[string]*lastBeat
	handedOn [][]*handedOn
	liveness liveness
	// putBackAt is the revision at which a stranger last put an object back, by name, in the class PutBack.
	putBackAt map[string]uint64
	// asked are the terms that somebody asked to hand over.
	asked map[termOf]bool
	// sees says whether the judge objects to overlaps in this run; a test replaces it.
	sees func(*judge) bool
}

// memberFile is what the judge knows of an incarnation.
type memberFile struct {
	i *incarnation
	// sessionSent is when the newest committed beat of the member's session was sent.
	sessionSent  record.Instant
	sessionUID   string // a late create may make another object of it
	sessionBeat  uint64
	sessionEnded bool
	// sessionName is the session's object. beatAt is when the last beat to an object was stored: two late creates may
	// give a member two. proved: a parent proved the member dead. wronged: somebody said that it was dead while it was
	// not, and the session ended.
	sessionName     string
	beatAt          map[string]int64
	proved, wronged bool
	// putBack: a stranger put the session back after its end. A member that did not see the end cannot know
	// that its session has ended.
	putBack bool
	// sent says when each beat was sent. shownSent is the sending time of the newest beat that the stream has
	// shown to the member itself. updated: the stream has shown it two.
	sent      map[uint64]record.Instant
	shownSent record.Instant
	updated   bool
	pace      pace // of its session
}

func newJudge(w *world) *judge {
	n := len(w.elections)
	return &judge{
		w: w, working: make([][]*work, n), startedToken: make([]record.Token, n), storedToken: map[string]record.Token{}, spans: make([][]span, n), taker: map[string]*contest{}, writer: map[string]*contest{},
		members: map[string]*memberFile{}, liveness: newLiveness(n), beats: map[string]*lastBeat{}, handedOn: make([][]*handedOn, n), asked: map[termOf]bool{}, putBackAt: map[string]uint64{},
		sees: func(j *judge) bool { return !j.restored() },
	}
}

func (j *judge) restored() bool { return j.w.options.Class == Restore }

// plant shows the judge two members at work at once. A judge that does not object to them is useless.
func (j *judge) plant() {
	w := j.w
	blind := &world{options: w.options, elections: []string{"planted"}}
	k := newJudge(blind)
	blind.judge, k.sees = k, j.sees
	h := &host{w: blind, name: "nobody"}
	first := &work{m: &contest{i: &incarnation{p: &proc{h: h}, identity: "first"}}, on: true}
	informed := &incarnation{p: &proc{h: h}, identity: "second", shownSessions: map[string]bool{"first": true}}
	second := &work{m: &contest{i: informed}, on: true}
	k.atWork(first)
	if blind.violation != "" {
		w.violate("plant", "the judge objects to one at work: %s", blind.violation)
	}
	k.atWork(second)
	if (blind.violation == "") != k.restored() {
		w.violate("plant", "the judge does not see two at work")
	}
}

func (j *judge) joined(i *incarnation) {
	j.identities = append(j.identities, i.identity)
	j.members[i.identity] = &memberFile{i: i, sent: map[uint64]record.Instant{}, beatAt: map[string]int64{}}
}

// started judges a machine's start of a term.
func (j *judge) started(m *contest, a member.Start) {
	w := j.w
	w.cov.Terms++
	j.liveness.termStarted(w, m)
	until, rule := j.validUntil(m)
	token := m.takenToken
	if o := m.outer; o != nil {
		also, _ := j.validUntil(o)
		until, token = min(until, also), max(token, o.takenToken)
	}
	switch {
	case m.work != nil && (m.work.on || !m.work.answered):
		w.violate("rule own-take", "%s: %s starts before its last work has returned", m.name, m.i.identity)
	case token != a.Token:
		w.violate("rule own-take", "%s: %s starts with token %d, but its last stored take has token %d", m.name, m.i.identity, a.Token, m.takenToken)
	case a.Deadline > until:
		w.violate(rule, "%s: %s starts with more than its take allows, by %v", m.name, m.i.identity, a.Deadline.Sub(until))
	case a.Deadline <= m.i.now():
		w.violate("rule sending-counts", "%s: %s starts after its deadline", m.name, m.i.identity)
	case a.Token <= j.startedToken[m.election] && !j.restored() && !m.besideTheMove() && !j.wronged(m):
		w.violate("rule tokens-rise", "%s: %s starts with token %d after %d", m.name, m.i.identity, a.Token, j.startedToken[m.election])
	}
	if !j.wronged(m) || a.Token > j.startedToken[m.election] {
		j.startedToken[m.election] = a.Token
	}
}

// byBeat says whether only a beat can have extended the work to that time. In a migration a renewal of the outer lock,
// which the same list may show, extends the work as well, as far as m's own lock allows.
func (m *contest) byBeat(until record.Instant) bool {
	return m.outer == nil || m.takenThroughSession && m.outer.takenThroughSession && until > m.work.until
}

// extended judges a member's extension of its work.
func (j *judge) extended(m *contest, until record.Instant) {
	w := j.w
	valid, rule := j.validUntil(m)
	if m.outer != nil {
		also, _ := j.validUntil(m.outer)
		valid = min(valid, also)
	}
	switch {
	case m.work == nil || m.work.asked:
		w.violate("rule stop-before-release", "%s: %s extends work that it has stopped", m.name, m.i.identity)
	case m.work.until <= m.i.now() && (m.outer == nil || until > m.work.until): // a renewal of one lock of two may extend nothing
		w.violate("rule dead-by-the-deadline", "%s: %s extends work whose deadline has passed", m.name, m.i.identity)
	case m.lacks && !m.i.several && m.byBeat(until):
		w.violate("rule seen-not-assumed", "%s: %s extends on a beat from a list that shows another owner of the lock", m.name, m.i.identity)
	case m.outer == nil && m.committedToken != m.work.token || until > valid.Add(m.outlasts()):
		w.violate(rule, "%s: %s extends by more than its last committed write allows", m.name, m.i.identity)
	case until > valid && !m.i.several && (m.askedAt == 0 || m.askedAt >= m.i.now()):
		w.violate("rule open-until-a-no", "%s: %s outlasts its last committed write, and has not asked for another one", m.name, m.i.identity)
	}
}

// stopped judges a member's stop of its work.
func (j *judge) stopped(m *contest, a member.Stop) {
	j.forced(m, a)
	w, now, grace := j.w, m.i.now(), m.timing().StopGrace
	better := m.betterSince
	if better == 0 {
		better = m.betterBefore // the better member may have gone within the step, after the decision
	}
	if better == 0 && m.betterIn(m.viewBefore) {
		better = now // it may have come with this step's preference, and gone within the step as well
	}
	var began record.Instant
	if s := m.state(); s != nil {
		began = s.Term.Started
	}
	switch {
	case m.work == nil || m.work.asked:
		w.violate("rule own-take", "%s: %s stops what it did not start", m.name, m.i.identity)
	case a.By > now.Add(grace):
		w.violate("rule dead-by-the-deadline", "%s: %s lets a stop take longer than its grace", m.name, m.i.identity)
	case a.By > m.work.until:
		w.violate("rule dead-by-the-deadline", "%s: %s lets a stop go on for longer than was granted", m.name, m.i.identity)
	case a.By < now.Add(grace-time.Microsecond) && !m.i.p.heldUp(grace-a.By.Sub(now)):
		w.violate("rule dead-by-the-deadline", "%s: %s stops %v before the end, with a grace of %v", m.name, m.i.identity, a.By.Sub(now), grace)
	case a.By < now.Add(grace-time.Microsecond):
		w.cov.saw(StoppedLate)
	case m.undisturbed && m.outer == nil && !j.restored() && slices.Contains(losses, a.Reason):
		w.violate("rule loss-is-definite", "%s: %s gives up its term although nobody took the lock (%s)", m.name, m.i.identity, a.Reason)
	case a.Reason == machine.ReasonYielded && m.turnedAt != now && !m.i.several:
		w.violate("yield", "%s: %s stops although %v was preferred before", m.name, m.i.identity, m.preferred)
	case a.Reason == machine.ReasonExpired && w.mustOutlast(m):
		w.violate("rule open-until-a-no", "%s: %s stops although the store said nothing since its last answer", m.name, m.i.identity)
	case a.Reason == machine.ReasonPreempted && (better != 0 || m.i.several) && takenBack(m):
		// A revision that was taken back drains without minHold and preemptDelay. With several inputs at once,
		// nobody can say whom the member knew of between them.
	case a.Reason == machine.ReasonPreempted && w.operators != nil:
		// Operators made another member better, or this one worse.
	case a.Reason == machine.ReasonPreempted && m.outer == nil && now < began.Add(m.timing().MinHold):
		w.violate("rule no-flapping", "%s: %s drains %v after its term began", m.name, m.i.identity, now.Sub(began))
	case a.Reason == machine.ReasonPreempted && (m.i.several || m.outer != nil):
		// The same. And a member that moves may have held the old lock for longer.
	case a.Reason == machine.ReasonPreempted && (better == 0 || now < better.Add(m.timing().PreemptDelay)):
		w.violate("rule no-flapping", "%s: %s drains for a better member that it has not seen for long enough", m.name, m.i.identity)
	}
}

// takenBack says whether the preference that the member knows names its own revision as taken back.
func takenBack(m *contest) bool {
	blocked := m.i.seen.For(m.of()).Blocked
	return blocked != "" && blocked == m.i.p.h.revision
}

// losses are the reasons of a term that ends because its holder lost the lock.
var losses = []machine.Reason{machine.ReasonLost, machine.ReasonCorrupt, machine.ReasonDeleted}

// changed is called when anybody has just written an object. A term that the lock no longer records counts
// as disturbed.
func (j *judge) changed(e lock.Entry) {
	j.noteBeat(e)
	if j.w.electionOf(e.Name) >= 0 {
		j.said(e.Name, e.Record)
	}
	if m, r := j.taker[e.Name], e.Record; m != nil && (r == nil || !r.Bound() || r.Holder != m.i.identity || r.Token != m.takenToken) {
		m.undisturbed = false
	}
}

// doubted is called when a member believes that the store was reset.
func (j *judge) doubted(i *incarnation) {
	if !j.restored() {
		j.w.violate("rule newer-by-version", "%s believes that the store was restored", i.identity)
	}
}

// better says whether the leader knows a member worth handing the lock to: one that outranks it, is ready,
// proven and in good standing, and sees the same preference.
func (m *contest) better() bool {
	view, seen := m.i.member.View(), m.i.seen
	if m.judgedBy.view != view || m.judgedBy.seen != seen {
		m.judgedBy.view, m.judgedBy.seen = view, seen
		m.judgedBy.better = m.betterIn(view)
	}
	return m.judgedBy.better
}

// betterIn says whether a directory shows a member worth handing the lock to, by the present preference.
func (m *contest) betterIn(view *machine.View) bool {
	h, seen := m.i.p.h, m.i.seen
	return view != nil && slices.ContainsFunc(view.Peers, func(p machine.Peer) bool {
		return p.Trust == machine.Proven && p.Ready && p.StandsFor(m.of()) && p.Preference == seen.Digest() &&
			m.settings.Policy.Outranks(p.Key(), h.key(), seen.For(m.of()))
	})
}

// knows notes what the member knows after a step, before the effects are performed.
func (j *judge) knows(m *contest) {
	m.betterBefore, m.viewBefore = m.betterSince, m.judgedBy.view
	if !m.better() {
		m.betterSince = 0
	} else if m.betterSince == 0 {
		m.betterSince = m.i.now()
	}
	if m.state() != nil {
		j.prefers(m, m.i.seen.For(m.of()))
	}
}

// stepped is called once the effects of a step were performed. The lock as a leading member knows it must
// record that member's term.
func (j *judge) stepped(m *contest) {
	s := m.state()
	if s == nil || s.Role != machine.Leading {
		return
	}
	if s.Lock.Owner != machine.Mine || s.Lock.Version.UID != s.Term.UID || s.Lock.Record.Token != s.Term.Token {
		j.w.violate("rule loss-is-definite", "%s: %s leads on although it sees that the lock is %v", m.name, m.i.identity, s.Lock.Owner)
	}
}

// outlived is called when work reached its deadline although its manager ran and could have stopped it.
func (j *judge) outlived(k *work) {
	if !k.m.i.p.heldUp(k.m.timing().StopGrace) {
		j.w.violate("rule dead-by-the-deadline", "%s: the work of %s was never stopped before its deadline", k.m.name, k.m.i.identity)
	}
}

// atWork is called when work begins.
func (j *judge) atWork(k *work) {
	e := k.m.election
	for _, other := range j.working[e] {
		if j.sees(j) && !j.w.excused(other) && !j.excusedByWord(other, k) && !k.m.unknowing(other.m.i.identity, other.token) {
			j.w.violate("overlap", "%s: %s (token %d) and %s (token %d) are at work at once", j.w.elections[e], other.m.i.identity, other.token, k.m.i.identity, k.token)
		}
	}
	j.besideElectors(k)
	j.besideHandedOn(k)
	j.working[e] = append(j.working[e], k)
}

func (j *judge) offWork(k *work) {
	e := k.m.election
	j.working[e] = slices.DeleteFunc(j.working[e], func(o *work) bool { return o == k })
}

// stored is called when a write of a machine was just committed.
func (j *judge) stored(m *contest, q *request) {
	w, p, e := j.w, q.purpose, q.entry
	r := e.Record
	j.writer[m.name] = m
	j.suspect(m)
	if r.Mark != nil {
		if r.Mark.Beat <= m.i.storedBeats[m.name] && !j.restored() {
			w.violate("rule newer-by-version", "%s: %s stores beat %d after %d", m.name, m.i.identity, r.Mark.Beat, m.i.storedBeats[m.name])
		}
		m.i.storedBeats[m.name] = r.Mark.Beat
	}
	switch p {
	case machine.Claim:
		for _, o := range w.workingElectors(m.election) {
			o.blanked = false // our next holder is told to wait for it
		}
		j.tokenStored(m, r)
		w.claimed(m.election)
		j.waited(m)
	case machine.Take:
		if s := m.state(); s != nil && s.Lock.Owner == machine.Orphaned {
			w.cov.saw(TakenFromEnded)
		}
		if r.Mark.Falls > 1 {
			w.cov.saw(LeftToRecover)
		}
		if m.fresh(q.sent) {
			w.cov.saw(TakenFresh)
		}
		if r.HandoverTo != "" {
			w.violate("rule forced-handover", "%s: %s takes it with the request of an earlier term", m.name, m.i.identity)
		}
		m.takenToken, m.takenRevision, m.undisturbed, j.taker[m.name] = r.Token, e.Version.Revision, true, m
		m.takenThroughSession = r.ThroughSession()
		if m.takenThroughSession {
			w.cov.saw(TakenThroughSession)
		}
		j.tokenStored(m, r)
		w.changes.takes(q)
		j.taken(m)
		j.waited(m)
		j.passOn(m)
		w.moved(m, p)
	case machine.Renew:
		if r.ThroughSession() {
			w.violate("rule seen-not-assumed", "%s: %s renews by itself what its session renews", m.name, m.i.identity)
		}
		m.takenThroughSession = false // a stranger wrote over a take through the session, and this record came back
		if m.work != nil && m.outer == nil && !m.work.answered && r.Token != m.work.token && !j.restored() {
			w.violate("rule tokens-rise", "%s: %s renews token %d in the term %d", m.name, m.i.identity, r.Token, m.work.token)
		}
	case machine.Release:
		for _, k := range j.working[m.election] {
			// A request sent before the store was restored may by chance fit the restored store.
			if k.m.i == m.i && k.m.needs(m.name) && q.restores == w.store.restores {
				w.violate("rule stop-before-release", "%s: %s releases before its work has stopped", m.name, m.i.identity)
			}
		}
		w.moved(m, p)
	case machine.Create:
		if r.Holder != "" || r.Token != 0 {
			w.violate("rule tokens-rise", "%s: %s creates it with a holder or a token", m.name, m.i.identity)
		}
	}
}

func (j *judge) tokenStored(m *contest, r *record.Record) {
	if r.Token <= j.storedToken[m.name] && !j.restored() {
		j.w.violate("rule tokens-rise", "%s: %s stores token %d after %d", m.name, m.i.identity, r.Token, j.storedToken[m.name])
	}
	j.storedToken[m.name] = max(j.storedToken[m.name], r.Token)
}

// taken is called when a lock was just taken. No term of another member may be alive.
func (j *judge) taken(m *contest) {
	w := j.w
	if j.restored() {
		return
	}
	for _, k := range j.working[m.election] {
		if !k.m.needs(m.name) || w.excused(k) || j.wronged(k.m) || m.unknowing(k.m.i.identity, k.token) {
			continue
		}
		w.violate("rule living-terms-stay", "%s: %s takes it while %s is at work", m.name, m.i.identity, k.m.i.identity)
	}
	for _, h := range w.hosts {
		if h.proc == nil || h.proc.inc == m.i {
			continue
		}
		o := h.proc.inc.contests[m.election]
		if o != nil && o.outer == nil && o.needs(m.name) && o.leads() && h.clock.local(w.now) < o.state().Term.Deadline && !w.excused(o.work) && !j.wronged(o) && !m.unknowing(o.i.identity, o.work.token) {
			w.violate("rule living-terms-stay", "%s: %s takes it during the term of %s", m.name, m.i.identity, o.i.identity)
		}
	}
}

// sessionStored is called when a write of a session was just committed.
func (j *judge) sessionStored(i *incarnation, e lock.Entry, sent record.Instant) {
	w, r := j.w, e.Record
	if r.Holder == i.identity {
		f := j.members[i.identity]
		f.sent[r.Mark.Beat], f.sessionName, f.beatAt[e.Name] = sent, e.Name, w.now
	}
	if j.restored() {
		return
	}
	if r.Holder == i.identity {
		f := j.members[i.identity]
		if f.sessionUID != e.Version.UID {
			f.sessionUID, f.sessionBeat, f.sessionEnded = e.Version.UID, 0, false
		}
		if f.sessionEnded && !f.putBack {
			w.violate("rule a-session-ends-once", "%s: %s beats after its end", e.Name, i.identity)
		}
		if r.Mark.Beat <= f.sessionBeat {
			w.violate("rule newer-by-version", "%s: %s stores beat %d after %d", e.Name, i.identity, r.Mark.Beat, f.sessionBeat)
		}
		f.sessionBeat, f.sessionSent = r.Mark.Beat, sent
		return
	}
	if r.Holder != "" || r.Member == nil {
		return
	}
	f := j.members[r.Member.Identity]
	if f == nil || f.sessionUID != e.Version.UID {
		return
	}
	f.sessionEnded = true
	for e, working := range j.working {
		if f.i == i && slices.ContainsFunc(working, func(k *work) bool { return k.m.i == i }) {
			w.violate("rule a-session-ends-once", "%s: %s ends its session before its work has stopped", w.elections[e], i.identity)
		}
	}
	if f.i == i {
		return
	}
	w.cov.saw(SessionEnded)
	if h := f.i.p.h; !f.i.p.dead && h.clock.local(w.now) < f.sessionSent.Add(f.i.timing.Validity()) {
		w.violate("rule a-session-ends-once", "%s: %s ends the session of %s, which has not lapsed", e.Name, i.identity, r.Member.Identity)
	}
}

// pace counts the requests of one machine, or for sessions, in windows of ten renewal intervals.
type pace struct {
	window          int64
	requests, ticks int
	sessions        map[string]bool // the requests were for these
}

// The limit paceRequests grows by paceSession with each further session that a member ends: the member reads and writes
// that session once in each renewal interval.
const (
	paceRequests = 150
	paceSession  = 20
	paceTicks    = 250
)

func (p *pace) roll(w *world, t record.Timing) {
	if n := w.now / int64(10*t.RenewInterval); n != p.window {
		*p = pace{window: n}
	}
}

// wrote is called when a member sends a request: for the lock of m, or with m nil for a session of that name.
func (j *judge) wrote(i *incarnation, m *contest, name string) {
	t := i.timing
	p := &j.members[i.identity].pace
	if m != nil {
		p, t = &m.pace, m.timing()
	}
	p.roll(j.w, t)
	p.requests++
	limit := paceRequests
	if m == nil {
		if p.sessions == nil {
			p.sessions = map[string]bool{}
		}
		p.sessions[name] = true
		limit += paceSession * (len(p.sessions) - 1)
	}
	if p.requests > limit {
		j.w.violate("pace", "%s: %s sends more than %d requests in %v", name, i.identity, limit, 10*t.RenewInterval)
	}
}

// ticked is called when a member's alarm wakes it.
func (j *judge) ticked(i *incarnation) {
	t := j.w.quickest(i.timing)
	i.pace.roll(j.w, t)
	if i.pace.ticks++; i.pace.ticks > paceTicks*(1+len(j.w.elections)) {
		j.w.violate("pace", "%s wakes up more than %d times in %v", i.identity, paceTicks*(1+len(j.w.elections)), 10*t.RenewInterval)
	}
}
