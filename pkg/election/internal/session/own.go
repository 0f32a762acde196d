package session

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Config is what does not change about this member's session.
type Config struct {
	Group string
	// Host is the Pod's or host's name; it names the slots.
	Host   string
	Timing record.Timing
}

// Own is this member's session: it finds a slot, beats, publishes, and ends once.
type Own struct {
	cfg    Config
	dir    *Directory
	member record.Member
	phase  phase

	slot string
	uid  string
	beat uint64
	// inFlight is the beat of the write that was not answered yet; zero for none.
	inFlight uint64
	// read is whether the slot must be read before the next write.
	read reading
	// onto is what the last write that was to make the session replaces; doubtful, that its
	// outcome is unknown.
	onto     record.Version
	doubtful bool
	// unfit are the slots that a session cannot be written to as they are, by name.
	unfit map[string]record.Version
	// published is what the last committed beat said.
	published record.Member
	// beatAt is when the next beat is due, retryAt the earliest instant after a failure.
	beatAt, retryAt record.Instant
	joinedAt        record.Instant
	// fallen are the beats that unended sessions of this host showed when we joined: one
	// that beats on is a sibling and counts no more.
	fallen []fallen
	// ending are the sessions of others that we asked to end, by name.
	ending map[string]ending
	lost   Reason
	// sent are the last beats and when each went out.
	sent []sentBeat
	// leaveSoon: Leave was called while the session was being made.
	leaveSoon bool
}

// ending is a try to end another's session.
type ending struct {
	onto record.Version
	// next is when it may be tried again.
	next record.Instant
}

type sentBeat struct {
	beat uint64
	at   record.Instant
}

// maxSent is how many beats are kept in mind until they are seen.
const maxSent = 32

type fallen struct {
	slot, holder string
	beat         uint64
	count        int
}

type reading int

const (
	notNeeded reading = iota
	needed
	asked
)

type phase int

const (
	joining phase = iota + 1
	alive
	leaving
	over
)

// Reason is why a session ended that its owner did not want to end.
type Reason string

const (
	LostEnded    Reason = "session was ended by another member"
	LostDeleted  Reason = "session object was deleted or recreated"
	LostReused   Reason = "session slot was taken over"
	LostCorrupt  Reason = "session record is corrupt"
	LostRestored Reason = "store was restored to an earlier state"
)

// Action is something to do for sessions: Write or Read.
type Action interface{ action() }

// Write: put the record under the name if the object is still at If.
type Write struct {
	Name   string
	Record record.Record
	If     record.Version
	// Beat is the number by which WriteDone answers; zero for the ending of another
	// member's session, which needs no answer.
	Beat uint64
}

// Read: fetch the object with a consistent read.
type Read struct{ Name string }

func (Write) action() {}
func (Read) action()  {}

// NewOwn is a session that has not joined yet. Everything that the directory learns, the
// session knows.
func NewOwn(cfg Config, dir *Directory, member record.Member) *Own {
	return &Own{cfg: cfg, dir: dir, member: member, phase: joining, ending: map[string]ending{}, unfit: map[string]record.Version{}}
}

// Publish changes what the session says of this member; the next Step writes it.
// Fallen is the session's own business.
func (o *Own) Publish(m record.Member) { o.member = m }

// Leave ends the session, once every runner has returned and every lock is released.
func (o *Own) Leave() {
	switch {
	case o.phase == joining && o.inFlight == 0 && o.read == notNeeded:
		o.phase = over
	case o.phase == joining:
		o.leaveSoon = true // a write may yet make a session that must be ended
	case o.phase == alive:
		o.phase = leaving
	}
}

// Abandon gives the session up without ending it; it will expire.
func (o *Own) Abandon() { o.phase = over }

// Seen says which beat of ours it is that the stream, or the list that it begins with, shows
// under a name; false where it is none, or one that is long forgotten. What our session
// renews lasts from when that was sent (rule seen-not-assumed). Whoever is told must have been shown, by the
// same stream, all records that changed before. The session counts as made from here on: terms
// may stand on it, so its end is one even where the write is never answered (rule a-session-ends-once).
func (o *Own) Seen(now record.Instant, name string, r *record.Record, v record.Version) (machine.Beat, bool) {
	if o.phase == over || name != o.slot || r == nil || !r.Bound() || r.Holder != o.member.Identity || o.uid != "" && o.uid != v.UID {
		return machine.Beat{}, false
	}
	i := slices.IndexFunc(o.sent, func(s sentBeat) bool { return s.beat == r.Mark.Beat })
	if i < 0 {
		return machine.Beat{}, false
	}
	o.dir.provenAt = max(o.dir.provenAt, o.sent[i].at)
	o.join(now, v.UID)
	return machine.Beat{Session: name, UID: v.UID, Sent: o.sent[i].at}, true
}

// Lost says why the session has ended without our doing; false while it has not.
// Nothing is written under its identity any more.
func (o *Own) Lost() (Reason, bool) { return o.lost, o.lost != "" }

// Over says whether the session is behind us: left or lost.
func (o *Own) Over() bool { return o.phase == over }

// Joined says whether the session has been written.
func (o *Own) Joined() bool { return o.phase == alive || o.phase == leaving }

// Name is the session object's name; empty before it was written.
func (o *Own) Name() string { return o.slot }

// ProvenAt is when the others will trust this member again after its last fall (rule no-flapping);
// zero when it never fell.
func (o *Own) ProvenAt() record.Instant {
	if o.phase != alive || o.published.Fallen == 0 {
		return 0
	}
	return o.joinedAt.Add(o.dir.probation(o.published.Fallen))
}

// WriteDone answers the Write with that beat. A committed record must be given to the
// directory first.
func (o *Own) WriteDone(now record.Instant, beat uint64, outcome machine.Answer, version record.Version) {
	if beat != o.inFlight {
		return
	}
	o.inFlight = 0
	if outcome == machine.Committed {
		o.retryAt = 0
		o.join(now, version.UID)
		return
	}
	o.backOff(now)
	o.beatAt = 0
	if o.phase == joining && outcome == machine.Unknown {
		o.doubtful = true
	}
	if outcome != machine.Refused {
		o.read = needed // what the slot says now must be known before the next write
	}
}

// Unfit takes in that the store finds what the Write with that beat would make of the object to be
// no valid one: a stranger may have filled it up. WriteDone must follow. A session that is still to
// be made goes to the next slot then, unless it was to create the object.
func (o *Own) Unfit(beat uint64) {
	if beat == o.inFlight && o.phase == joining && o.onto.UID != "" {
		o.unfit[o.slot] = o.onto
	}
}

func (o *Own) backOff(now record.Instant) { o.retryAt = now.Add(o.cfg.Timing.RenewInterval / 4) }

func (o *Own) join(now record.Instant, uid string) {
	if o.phase == joining {
		o.phase, o.uid, o.joinedAt = alive, uid, now
		if o.leaveSoon {
			o.phase = leaving
		}
	}
}

// ReadDone answers a Read of that name. What it showed must be given to the directory first.
func (o *Own) ReadDone(name string) {
	if name == o.slot {
		o.read = notNeeded
	}
}

// ReadFailed answers a Read of that name that showed nothing.
func (o *Own) ReadFailed(now record.Instant, name string) {
	if name == o.slot {
		o.read = needed
		o.backOff(now)
	}
}

// Step says what to do now, and the instant at which to ask again; zero for never.
func (o *Own) Step(now record.Instant) (actions []Action, next record.Instant) {
	wake := func(at record.Instant) {
		if at != 0 && (next == 0 || at < next) {
			next = max(at, now+1)
		}
	}
	if o.phase == over || !o.dir.synced {
		return nil, 0
	}
	o.watchOver(now)
	if o.phase == over {
		return nil, 0
	}
	actions = o.endOthers(now, wake)
	switch {
	case o.inFlight != 0:
	case o.read == asked:
	case now < o.retryAt:
		wake(o.retryAt)
	case o.read == needed:
		o.read = asked
		actions = append(actions, Read{Name: o.slot})
	default:
		if w, ok := o.due(now, wake); ok {
			o.beat++
			w.Beat, w.Record.Mark.Beat = o.beat, o.beat
			o.inFlight = o.beat
			o.sent = append(o.sent[max(0, len(o.sent)-maxSent+1):], sentBeat{o.beat, now})
			actions = append(actions, w)
		}
	}
	return actions, next
}

// watchOver finds out whether the session is still ours (rules loss-is-definite, a-session-ends-once).
func (o *Own) watchOver(now record.Instant) {
	s := o.dir.slot(o.slot)
	lose := func(why Reason) { o.phase, o.lost = over, why }
	if o.phase == joining {
		switch {
		case s != nil && holderOf(s.record) == o.member.Identity:
			o.join(now, s.version.UID) // seen before, or without, the reply
		case o.doubtful && (s == nil && !o.onto.IsZero() || s != nil && s.version != o.onto):
			// It may have been made, and ended before we saw it (rule a-session-ends-once).
			lose(LostEnded)
		}
	}
	if o.phase != alive && o.phase != leaving {
		return
	}
	switch {
	case s == nil || s.version.UID != o.uid:
		lose(LostDeleted)
	case s.record.Released() && o.phase == leaving:
		o.phase = over
	case s.record.Released():
		lose(LostEnded)
	case !s.record.Bound() || s.tampered:
		lose(LostCorrupt)
	case s.record.Holder != o.member.Identity:
		lose(LostReused)
	}
}

// due is the write that is due now, if any.
func (o *Own) due(now record.Instant, wake func(record.Instant)) (Write, bool) {
	switch o.phase {
	case joining:
		if o.leaveSoon { // what was asked for did not come to be
			o.phase = over
			return Write{}, false
		}
		free := o.dir.freeSlot(o.cfg.Host, now, o.unfit)
		o.countFallen()
		o.slot, o.onto = free.Name, free.Version
		r := o.record(now)
		if free.Record != nil {
			r.Transitions = record.NextTransitions(free.Record.Transitions)
			r.History = free.Record.History
			r.Rest = free.Record.Rest
		}
		r.Mark.Transitions = r.Transitions
		o.beatAt = now.Add(o.cfg.Timing.RenewInterval)
		o.published = *r.Member
		return Write{Name: free.Name, Record: r, If: free.Version}, true
	case alive:
		o.member.Fallen = o.fallenNow(now)
		if now < o.beatAt && o.member.Equal(&o.published) {
			wake(o.beatAt)
			return Write{}, false
		}
		r := o.record(now)
		known := o.dir.slot(o.slot)
		r.Transitions, r.Mark.Transitions = known.record.Transitions, known.record.Transitions
		r.Acquired, r.History, r.Rest = known.record.Acquired, known.record.History, known.record.Rest
		o.beatAt = now.Add(o.cfg.Timing.RenewInterval)
		o.published = *r.Member
		return Write{Name: o.slot, Record: r, If: known.version}, true
	default: // leaving
		known := o.dir.slot(o.slot)
		return Write{Name: o.slot, Record: EndedRecord(known.record, o.member.Identity, left), If: known.version}, true
	}
}

func (o *Own) record(now record.Instant) record.Record {
	m := o.member
	m.Fallen = o.fallenNow(now)
	return record.Record{
		Holder:   m.Identity,
		Duration: o.cfg.Timing.LeaseDuration,
		Mark: &record.Mark{
			Identity: m.Identity,
			Key:      m.Key(),
			Weight:   m.Weight,
			Duration: o.cfg.Timing.LeaseDuration,
			Renewal:  record.RenewalRecord,
		},
		Member: &m,
		Group:  o.cfg.Group,
	}
}

// countFallen looks at the earlier sessions of this host that their owner did not end
// (rule no-flapping), before one of them is overwritten. A later one that was forgiven, and that its owner
// ended, makes up for those before it.
func (o *Own) countFallen() {
	o.fallen = nil
	slots := o.dir.hostSlots(o.cfg.Host)
	var forgiven uint64 // the revision of the last such end
	for _, s := range slots {
		if s.record.Group == o.cfg.Group && endedByOwner(s.record) && s.record.Member.Fallen == 0 {
			forgiven = max(forgiven, s.version.Revision)
		}
	}
	for _, s := range slots {
		if s.record.Member == nil || s.record.Group != o.cfg.Group || endedByOwner(s.record) || s.version.Revision < forgiven {
			continue
		}
		o.fallen = append(o.fallen, fallen{s.name, s.record.Member.Identity, beatOf(s.record), s.record.Member.Fallen + 1})
	}
}

// fallenNow is what to publish: it forgets siblings that turn out to be alive, and all
// of it after living twice the probation.
func (o *Own) fallenNow(now record.Instant) int {
	o.fallen = slices.DeleteFunc(o.fallen, func(f fallen) bool {
		s := o.dir.slot(f.slot)
		return s != nil && holderOf(s.record) == f.holder && beatOf(s.record) > f.beat
	})
	n := 0
	for _, f := range o.fallen {
		n = max(n, f.count)
	}
	if n > 0 && o.phase == alive && now >= o.joinedAt.Add(2*o.dir.probation(n)) {
		o.fallen, n = nil, 0
	}
	return n
}

// endOthers ends the sessions of the dead. Anyone may; whoever comes second conflicts.
func (o *Own) endOthers(now record.Instant, wake func(record.Instant)) []Action {
	if o.phase != alive {
		return nil
	}
	dead, next, unproven := o.dir.Expired(now)
	wake(next)
	if n := len(o.sent); unproven != 0 && (n == 0 || o.sent[n-1].at < unproven) {
		o.beatAt = 0 // the proof is a beat of ours
	}
	var actions []Action
	for _, d := range dead {
		tried := o.ending[d.Name]
		if d.Name == o.slot || now < tried.next {
			wake(tried.next)
			continue
		}
		if tried.onto == d.Version {
			// Nothing that the stream showed tells why it failed: the store may have been restored.
			actions = append(actions, Read{Name: d.Name})
		}
		o.ending[d.Name] = ending{onto: d.Version, next: now.Add(max(o.cfg.Timing.RenewInterval, time.Second))}
		actions = append(actions, Write{Name: d.Name, Record: EndedRecord(d.Record, o.member.Identity, "expired"), If: d.Version})
	}
	return actions
}
