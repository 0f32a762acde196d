package session

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Config is the part of this member's session that does not change.
type Config struct {
	Group string
	// Host is the Pod's or host's name. The slots' names are made of it.
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
	// beat is the last one that we used. stride is by how much the next one is higher.
	beat, stride uint64
	// inFlight is the beat of the write without an answer yet; zero for none.
	inFlight uint64
	// read says whether we must read the slot before the next write.
	read reading
	// onto is the version that our last write to create the session replaces. doubtful: a write to create
	// the session had an unknown outcome.
	onto     record.Version
	doubtful bool
	// unfit are the slots in which the store refused our session as invalid, by name, each with the version
	// of the object then.
	unfit map[string]record.Version
	// renewed: the stream has shown a beat of ours besides the first. refused is the last beat that was unfit.
	renewed bool
	refused uint64
	// published is what the last beat that we sent said.
	published record.Member
	// beatAt is when the next beat is due, retryAt the earliest instant after a failure.
	beatAt, retryAt record.Instant
	joinedAt        record.Instant
	// fallen are the sessions of this host that had not been ended by their owners when we joined. If one of
	// them beats again, its member lives, and it no longer counts.
	fallen []fallen
	// deaths are those that the slot told of when we took it over.
	deaths []record.Death
	// predecessors are the earlier members of the slot that we go on telling of.
	predecessors []predecessor
	// ending are the sessions of others that we asked to end, by name.
	ending map[string]ending
	lost   Reason
	// sent are our last beats since the one that was seen last.
	sent []sentBeat
	// leaveSoon: Leave was called while we were creating the session.
	leaveSoon bool
}

// ending is an attempt to end another member's session.
type ending struct {
	onto record.Version
	// next is when we may try again.
	next record.Instant
}

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

// Reason is why a session ended against its owner's will.
type Reason string

const (
	LostEnded   Reason = "session was ended by another member"
	LostDeleted Reason = "session object was deleted or recreated"
	LostReused  Reason = "session slot was taken over"
	LostCorrupt Reason = "session record is corrupt"
	LostRefused Reason = "session has lapsed, and the store accepts no write to it"
	LostUnsure  Reason = "session may yet be created in a slot that cannot be used any more"
)

// Action is something to do for sessions: Write or Read.
type Action interface{ action() }

// Write: put the record under the name if the object is still at If.
type Write struct {
	Name   string
	Record record.Record
	If     record.Version
	// Beat is the number to pass to WriteDone; zero for a write that ends another
	// member's session and needs no answer.
	Beat uint64
}

// Read: fetch the object with a consistent read.
type Read struct{ Name string }

func (Write) action() {}
func (Read) action()  {}

// NewOwn returns a session that has not joined yet. It reads dir, so it knows all that dir learns.
func NewOwn(cfg Config, dir *Directory, member record.Member) *Own {
	return &Own{cfg: cfg, dir: dir, member: complete(cfg, member), phase: joining, stride: strideOf(member.Identity), ending: map[string]ending{}, unfit: map[string]record.Version{}}
}

// Publish changes what the session says of this member; the next Step writes it.
// The session sets Fallen, Predecessors, Deaths and RenewInterval itself.
func (o *Own) Publish(m record.Member) { o.member = complete(o.cfg, m) }

// Leave ends the session, once every runner has returned and every lock is released.
func (o *Own) Leave() {
	switch {
	case o.phase == joining && o.inFlight == 0 && o.read == notNeeded:
		o.phase = over
	case o.phase == joining:
		o.leaveSoon = true // our write may still create a session, which we must end
	case o.phase == alive:
		o.phase = leaving
	}
}

// Abandon gives the session up without ending it; it will expire.
func (o *Own) Abandon() { o.phase = over }

// Lost says why the session ended against our will; false if it did not. Once it did, nothing is written
// under its identity any more.
func (o *Own) Lost() (Reason, bool) { return o.lost, o.lost != "" }

// Over says whether the session is over: left, lost or abandoned.
func (o *Own) Over() bool { return o.phase == over }

// Joined says whether the session exists, as far as we know.
func (o *Own) Joined() bool { return o.phase == alive || o.phase == leaving }

// Name is the session object's name; empty before it was written.
func (o *Own) Name() string { return o.slot }

// Ended says whether the session is over and is seen not to be ours any more, or was never written.
func (o *Own) Ended() bool {
	s := o.dir.slot(o.slot)
	return o.phase == over && (o.slot == "" || s != nil && s.record.Holder != o.member.Identity)
}

// ProvenAt is when the others will trust this member again after its last fall (rule no-flapping);
// zero if it never fell.
func (o *Own) ProvenAt() record.Instant {
	if o.phase != alive || o.published.Fallen == 0 {
		return 0
	}
	return o.joinedAt.Add(o.dir.probation(o.published.Fallen))
}

// WriteDone answers the Write with the given beat. If the write was committed, pass its record to
// Directory.Observe first.
func (o *Own) WriteDone(now record.Instant, beat uint64, outcome machine.Answer, version record.Version) {
	if beat != o.inFlight {
		return
	}
	o.inFlight = 0
	if outcome == machine.Committed {
		o.retryAt = 0
		if i := slices.IndexFunc(o.sent, func(s sentBeat) bool { return s.beat == beat }); i >= 0 {
			o.sent[i].answered = now
		}
		o.join(now, version.UID)
		return
	}
	o.backOff(now)
	o.beatAt = 0
	if o.phase == joining && outcome == machine.Unknown {
		o.doubtful = true
	}
	if outcome != machine.Refused {
		o.read = needed // we must know the slot's present record before the next write
	}
}

// Unfit tells the session that the store rejects the Write with the given beat as an invalid object, or denies
// it: a stranger may have filled the object up, or nobody may change its owners. Call Unfit before WriteDone. If
// the Write was to create the session in an existing object, the session tries the next slot. Else it may be Refused once it has lapsed.
func (o *Own) Unfit(beat uint64) {
	if beat != o.inFlight {
		return
	}
	o.refused = beat
	if o.phase == joining && o.onto.UID != "" {
		o.unfit[o.slot] = o.onto
	}
}

// Refused says whether the session has lapsed, and the store does not accept our writes to it. It must have been renewed before: if no
// session could be, each new one would only leave an object behind.
func (o *Own) Refused(now record.Instant) bool {
	s := o.dir.slot(o.slot)
	return o.phase == alive && o.renewed && o.refused == o.beat && s != nil && now >= o.dir.endOf(s)
}

// GiveUp loses a session that is Refused.
func (o *Own) GiveUp() { o.phase, o.lost = over, LostRefused }

func (o *Own) backOff(now record.Instant) { o.retryAt = now.Add(o.cfg.Timing.RenewInterval / 4) }

func (o *Own) join(now record.Instant, uid string) {
	if o.phase == joining {
		o.phase, o.uid, o.joinedAt = alive, uid, now
		if o.leaveSoon {
			o.phase = leaving
		}
	}
}

// ReadDone answers a Read of the named object. Pass its result to Directory.Read first.
func (o *Own) ReadDone(name string) {
	if name == o.slot {
		o.read = notNeeded
	}
}

// ReadFailed answers a Read of the named object that failed.
func (o *Own) ReadFailed(now record.Instant, name string) {
	if name == o.slot {
		o.read = needed
		o.backOff(now)
	}
}

// Step returns what to do now, and the instant of the next Step; zero for never.
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
			o.beat += o.stride
			w.Beat, w.Record.Mark.Beat = o.beat, o.beat
			o.inFlight = o.beat
			o.sent = append(o.sent[max(0, len(o.sent)-maxSent+1):], sentBeat{beat: o.beat, at: now, config: o.published.Config, timings: o.published.Timings, renews: o.phase == alive})
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
			o.join(now, s.version.UID) // seen before the answer, or without one
		case o.doubtful && (s == nil && !o.onto.IsZero() || s != nil && s.version != o.onto):
			// Our write may have created it, and somebody ended it before we saw it (rule a-session-ends-once).
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
	case !s.record.Bound() || s.tampered, s.beat > record.MaxToken-o.stride: // a stranger left us no next beat
		lose(LostCorrupt)
	case s.record.Holder != o.member.Identity:
		lose(LostReused)
	}
}

// due is the write that is due now, if any.
func (o *Own) due(now record.Instant, wake func(record.Instant)) (Write, bool) {
	switch o.phase {
	case joining:
		if o.leaveSoon { // our write did not create a session
			o.phase = over
			return Write{}, false
		}
		free := o.dir.freeSlot(o.cfg.Host, now, o.unfit)
		if o.doubtful && free.Name != o.slot {
			// Our write may yet create the session in the slot that we leave. It would lapse there, and end our identity.
			o.phase, o.lost = over, LostUnsure
			return Write{}, false
		}
		o.countFallen()
		o.slot, o.onto = free.Name, free.Version
		o.deaths, o.predecessors = o.dir.deathsIn(free.Name), o.dir.predecessorsIn(free.Name, now)
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
		if says := o.says(now); now < o.beatAt && (len(o.sent) > maxUnseen || says.Equal(&o.published)) {
			wake(o.beatAt)
			return Write{}, false
		}
		known := o.dir.slot(o.slot)
		o.beat = max(o.beat, known.beat) // a stranger may have raised it: others take what has no higher beat for an edit
		r := o.record(now)
		r.Transitions, r.Mark.Transitions = known.record.Transitions, known.record.Transitions
		r.Acquired, r.History, r.Rest = known.record.Acquired, known.record.History, known.record.Rest
		o.beatAt = now.Add(o.cfg.Timing.RenewInterval)
		o.published = *r.Member
		return Write{Name: o.slot, Record: r, If: known.version}, true
	default: // leaving
		known := o.dir.slot(o.slot)
		r := EndedRecord(known.record, o.member.Identity, left)
		if r.Member != nil {
			m := *r.Member
			m.Predecessors = tellOf(o.predecessors, now)
			r.Member = &m
		}
		return Write{Name: o.slot, Record: r, If: known.version}, true
	}
}

// says is what the session says of this member now.
func (o *Own) says(now record.Instant) record.Member {
	m := o.member
	m.Fallen, m.Deaths = o.fallenNow(now), o.deaths
	m.Predecessors = tellOf(o.predecessors, now)
	return m
}

func (o *Own) record(now record.Instant) record.Record {
	m := o.says(now)
	return record.Record{
		Holder:   m.Identity,
		Duration: o.cfg.Timing.LeaseDuration,
		Mark: &record.Mark{
			Identity: m.Identity,
			Key:      m.Key(),
			Weight:   int32(m.Weight), // #nosec G115 -- no session is stored with a larger one
			Duration: o.cfg.Timing.LeaseDuration,
			Renewal:  record.RenewalRecord,
		},
		Member: &m,
		Group:  o.cfg.Group,
	}
}

// fallCounts is how long a fall counts at least. A host that falls again within that time is on probation for longer.
const fallCounts = time.Hour

// countFallen collects the earlier sessions of this host that their owners did not end (rule no-flapping),
// before we overwrite one of them. A session that its owner ended while it published no falls cancels all
// older sessions. A fall counts for fallCounts, or for twice the probation that it causes if that is longer. A new
// member did not see the fall, so it compares the times in the records. A wrong time only makes us count a fall too many
// or too few.
func (o *Own) countFallen() {
	o.fallen = nil
	slots := o.dir.hostSlots(o.cfg.Host)
	latest := o.dir.latest()
	var forgiven uint64 // the revision of the last such end, which cancels older sessions
	for _, s := range slots {
		if s.record.Group == o.cfg.Group && endedByOwner(s.record) && s.record.Member.Fallen == 0 {
			forgiven = max(forgiven, s.version.Revision)
		}
	}
	for _, s := range slots {
		if s.record.Member == nil || s.record.Group != o.cfg.Group || endedByOwner(s.record) || s.version.Revision < forgiven {
			continue
		}
		n := s.record.Member.Fallen + 1
		if at := s.record.Renewed; !at.IsZero() && latest.Sub(at) > max(fallCounts, 2*o.dir.probation(n)) {
			continue
		}
		o.fallen = append(o.fallen, fallen{s.name, s.record.Member.Identity, beatOf(s.record), n})
	}
}

// fallenNow is the number of falls to publish. It forgets sessions whose members turn out to live, and all
// falls once we have lived for twice the probation.
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

// endOthers ends the expired sessions of others. Every member may do so; the write of the second conflicts.
func (o *Own) endOthers(now record.Instant, wake func(record.Instant)) []Action {
	if o.phase != alive {
		return nil
	}
	dead, next, unproven := o.dir.Expired(now)
	wake(next)
	if n := len(o.sent); unproven != 0 && (n == 0 || o.sent[n-1].at < unproven) {
		o.beatAt = 0 // a new beat of ours brings the proof
	}
	var actions []Action
	for _, d := range dead {
		tried := o.ending[d.Name]
		if d.Name == o.slot || now < tried.next {
			wake(tried.next)
			continue
		}
		if tried.onto == d.Version {
			// The stream does not show why the last attempt failed: the store may have been restored. Read it.
			actions = append(actions, Read{Name: d.Name})
		}
		o.ending[d.Name] = ending{onto: d.Version, next: now.Add(max(o.cfg.Timing.RenewInterval, time.Second))}
		actions = append(actions, Write{Name: d.Name, Record: EndedRecord(d.Record, o.member.Identity, "expired"), If: d.Version})
	}
	return actions
}
