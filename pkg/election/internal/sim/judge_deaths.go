package sim

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// lastBeat is the newest beat of a lock's holder, and when it was stored. was is the one before the present version.
type lastBeat struct {
	beatOf
	was beatOf
}

type beatOf struct {
	identity  string
	beat      uint64
	at        int64
	duration  time.Duration
	byRecord  bool
	mayBeFree bool // a proof frees it: it names a session, and carries no claim
}

// handedOn is work that a dead member had handed on to others, until its deadline.
type handedOn struct {
	identity string
	until    int64
	token    record.Token
	work     *work
	// passed: a member without OnDeathLease took the lock since, which docs/death.md allows it.
	passed bool
}

// noteBeat keeps what the lock's holder wrote last.
func (j *judge) noteBeat(e lock.Entry) {
	if j.w.electionOf(e.Name) < 0 {
		return
	}
	b := j.beats[e.Name]
	if b == nil {
		b = &lastBeat{}
		j.beats[e.Name] = b
	}
	b.was = b.beatOf
	r := e.Record
	if !held(r) {
		b.beatOf.byRecord = false
		return
	}
	at := j.w.now
	if b.identity == r.Holder && b.beat == r.Mark.Beat {
		at = b.at
	}
	b.beatOf = beatOf{r.Holder, r.Mark.Beat, at, r.Mark.Duration, !r.ThroughSession(), r.Mark.Session != "" && r.Claim == nil}
}

// waited judges that a lock that its holder renewed itself is taken only once a lease is over, or by a proof that names
// the holder (rule proof-not-patience).
func (j *judge) waited(m *contest) {
	w := j.w
	if j.restored() {
		return
	}
	if is := j.beats[m.name]; w.relics[m.election] != noRelic && w.relicIn(m.name) && !is.byRecord {
		w.violate("rule the-way-back-stays-open", "%s: %s takes it through its session, although an elector of another kind once held it", m.name, m.i.identity)
	}
	was := j.beats[m.name].was
	if !was.byRecord || was.identity == m.i.identity || w.now-was.at >= int64(was.duration) {
		return
	}
	e := m.election
	switch f := j.members[was.identity]; {
	case f == nil:
	case !f.proved:
		w.violate("rule proof-not-patience", "%s: %s takes it %v after a beat of %s, and nobody proved that one dead", m.name, m.i.identity, time.Duration(w.now-was.at), was.identity)
	case !was.mayBeFree || w.locks[e].ranged || m.settings.Outage.Mode == machine.OutageFailOpen || w.shared(e) || m.settings.OnDeath == machine.OnDeathLease:
		w.violate("rule proof-not-patience", "%s: %s takes it %v after a beat of %s, and no proof frees such a lock", m.name, m.i.identity, time.Duration(w.now-was.at), was.identity)
	default:
		w.cov.saw(RecordFreed)
		if w.relics[e] != noRelic {
			w.cov.saw(RelicFreed)
		}
	}
}

// bequeath notes what a process hands on when it dies, in elections with OnDeathLease.
func (j *judge) bequeath(k *work) {
	e := k.m.election
	if k.on && k.m.settings.OnDeath == machine.OnDeathLease {
		j.handedOn[e] = append(j.handedOn[e], &handedOn{k.m.i.identity, k.m.i.p.h.clock.when(k.until), k.token, k, false})
	}
}

// besideHandedOn objects to work that begins while work may go on that a dead member handed on.
func (j *judge) besideHandedOn(k *work) {
	w, e := j.w, k.m.election
	if j.restored() {
		return
	}
	for _, o := range j.handedOn[e] {
		switch {
		case o.identity == k.m.i.identity || k.m.unknowing(o.identity, o.token), o.passed:
		case w.now < o.until && w.excused(o.work): // its term failed open, and members do not agree on that yet
		case w.now < o.until:
			w.violate("rule proof-not-patience", "%s: %s begins %v before the end of what %s handed on", w.elections[e], k.m.i.identity, time.Duration(o.until-w.now), o.identity)
		case j.members[o.identity].proved:
			w.cov.saw(LeftForALease)
		}
	}
}

// passOn notes that a member took the lock that does not wait for what the dead handed on.
func (j *judge) passOn(m *contest) {
	for _, o := range j.handedOn[m.election] {
		if m.settings.OnDeath != machine.OnDeathLease && j.w.now < o.until {
			o.passed = true
		}
	}
}

// alwaysForALease says whether all members have OnDeathLease, at all times.
func (w *world) alwaysForALease(e int) bool {
	return w.onDeath[e] == machine.OnDeathLease && (w.changes == nil || !w.changes.deaths[e])
}
