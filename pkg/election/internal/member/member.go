package member

import (
	"fmt"
	"hash/fnv"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Member is one incarnation of a member in its realm: a value that is stepped, by one goroutine at a
// time. The package says what a step promises.
type Member struct {
	cfg      Config
	identity string
	// now and wall are the instant of the step that is under way.
	now  record.Instant
	wall time.Time
	out  effects
	log  logger
	// room is for the actions of the next machine that is stepped.
	room []machine.Action

	// notBefore is the earliest instant at which this incarnation takes anything.
	notBefore record.Instant
	// hushed: the log says that the realm's own watch is silent, which has shown no change since.
	hushed bool
	// preference is what this incarnation knows of what is preferred.
	preference Preference
	// preferred is what was found preferred for an election last.
	preferred *preferred
	// published is the digest of what our session says that we see. It follows preference, at
	// publishAt; zero where it has.
	published string
	publishAt record.Instant

	// born is when the first step was made; zero before.
	born  record.Instant
	queue queue
	// asked are the requests without an answer. requests and watches count them.
	asked             map[uint64]asked
	requests, watches uint64
	timers            timers
	// salt is odd, and another one for each incarnation.
	salt uint64

	contests contests
	// strays counts those elections that are for locks that were left behind.
	strays  int
	streams []*stream
	// going are the contests that resigned and may still owe something; lowered, those
	// in which our standing was lowered; unready, those whose runners are not ready.
	going, lowered, unready set[*contest]
	// heedful are the contests that need to be told of each beat of our session, and byBeats how many have a
	// term that goes by the beats without being told.
	heedful set[*contest]
	byBeats int
	// longestGrace is the longest stopGrace of those so far whose terms a session renews.
	longestGrace time.Duration
	// crowded: lowered and unready are too many for the session to list.
	crowded bool
	// open are the contests for elections' own locks whose terms outlast an outage, each with whether
	// a term is on. openNow are the names of those with a term, for the session, and openStale says
	// that they have changed.
	open      map[*contest]bool
	openNow   []string
	openStale bool
	// health is what was published of a term last.
	health *Health
	// postponed are elections whose locks are being released first.
	postponed []*Election
	// setup sums up the elections that this member takes part in, others is what the other
	// members say of their timings, and unlike in what they differ from us.
	setup  setup
	others record.Bounds
	unlike unlike
	// gone are the locks of elections that were given up.
	gone map[lockName]gone
	// disowned are the locks of which neither a release nor a take could be written.
	disowned map[lockName]disowned
	// sendings are the writes to locks whose answers have not come.
	sendings map[*contest][]sending
	// untold are the names of those locks that the log does not tell of yet.
	untold []string
	// heard is when the owner of each session was last heard of, by the session's name, for the
	// log.
	heard map[string]sign

	dir     *session.Directory
	own     *session.Own
	view    *machine.View
	trouble troubles
	// beat is the last one of our session that its stream has shown.
	beat machine.Beat
	// toldLate: terms that go by the beats were told that the next one is late.
	toldLate bool
	// soundSince is when the stream began to show our beats without a gap.
	soundSince record.Instant
	// heardOf is when the store last answered a write of our session.
	heardOf record.Instant
	// sight says whether our beats come back in time.
	sight sight
	// dimmed are the contests that are paused while they do not, beside a term that fails open.
	dimmed set[*contest]
	// answeredAt is when we sent the first session request that got an answer after the watch had
	// been silent for a leaseDuration; zero while none did.
	answeredAt record.Instant
	// provenAt is when the others will trust this member again after a fall.
	provenAt record.Instant
	// viewStale: the directory was shown something since the view was made.
	viewStale bool
	// sessionNext and the like are when each wants to be looked at again; zero for never.
	sessionNext, viewNext, queueNext, streamNext, sightNext, lateNext record.Instant

	// failed is why a store cannot be used at all.
	failed error
	// unreadyAt is when a leaving member tells the others that it is not ready any more; zero
	// once it has.
	unreadyAt record.Instant
	// handed are the locks that a leaving member released to a nominee that has not been seen to
	// take them, and handedBy is until when it waits for that.
	handed   map[lockName]bool
	handedBy record.Instant
	// giveUpAt is until when a leaving member tries to end its session.
	giveUpAt record.Instant
	// leaving is why everything is being given up; empty while nothing is.
	leaving machine.Reason
	// ending is why everything is to be given up, found while something else was taken in: that
	// touches every contest, so it waits for attend.
	ending machine.Reason
}

// New is an incarnation that has not joined yet.
func New(cfg Config) *Member {
	m := &Member{
		cfg:        cfg,
		identity:   cfg.Identity,
		notBefore:  cfg.Heritage.notBefore,
		sight:      cfg.Heritage.saw,
		hushed:     cfg.Heritage.hushed,
		preference: notSynced,
		published:  notSynced.Digest(),
		asked:      map[uint64]asked{},
		contests:   contests{of: map[ID]*contest{}},
		sendings:   map[*contest][]sending{},
		open:       map[*contest]bool{},
		handed:     map[lockName]bool{},
		gone:       map[lockName]gone{},
		disowned:   map[lockName]disowned{},
		heard:      map[string]sign{},
		view:       &machine.View{},
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(cfg.Identity)) // a hash never fails to write
	m.salt = hash.Sum64() | 1
	m.log = logger{to: &m.out}.With(zap.String("identity", cfg.Identity), zap.String("revision", cfg.Revision))
	m.trouble.log = m.log
	m.queue = newQueue(WriteTimeout(cfg.Timing), cfg.WritesPerSecond)
	m.dir = session.NewDirectory(cfg.Group, cfg.Timing)
	m.own = session.NewOwn(session.Config{Group: cfg.Group, Host: cfg.Host, Timing: cfg.Timing}, m.dir, m.says())
	return m
}

// jitter is left to chance, from 0 to 1.
func (m *Member) jitter() float64 { return float64(m.cfg.Chance.Uint64()>>11) / (1 << 53) }

// Step takes in what has happened by now, of which wall is the time on the wall, does what is due,
// and returns what the host is to do, in order. The effects are the caller's until the next Step.
func (m *Member) Step(now record.Instant, wall time.Time, inputs ...Input) []Effect {
	m.now, m.wall = now, wall
	clear(m.out.list)
	m.out.list = m.out.list[:0]
	joins := m.born == 0
	if joins {
		m.born = now
		m.log.Info("joining", zap.String("group", m.cfg.Group))
	}
	for _, in := range inputs {
		m.take(in)
	}
	if s := m.streamOf(Own); joins && s.watch == 0 {
		m.begin(s)
	}
	m.attend()
	if m.Over() {
		m.log.Info("left", zap.String("reason", string(m.leaving)))
	}
	effects := m.out.list
	if cap(effects) > mostKept {
		m.out.list = nil
	}
	return effects
}

// mostKept is for how many effects the memory is kept until the next step. A list that shows thousands
// of locks has as many, which would be kept for nothing.
const mostKept = 64

// Over says whether this incarnation owes nothing any more. Its watches and requests may be
// dropped then.
func (m *Member) Over() bool { return m.leaving != "" && len(m.contests.all) == 0 && m.own.Over() }

// Again says whether the member is to come back as another incarnation once this one is over,
// and the error for which a store cannot be used at all.
func (m *Member) Again() (bool, error) { return m.leaving != machine.ReasonShutdown, m.failed }

// Heritage is what the next incarnation needs to know of this one, which is over.
func (m *Member) Heritage() Heritage {
	left := Heritage{notBefore: m.notBefore, saw: m.sight, hushed: m.hushed}
	if m.now < m.born.Add(m.cfg.Timing.LeaseDuration) {
		left.Pause = min(record.Doubled(m.cfg.Timing.RenewInterval, m.cfg.Heritage.short), m.cfg.Timing.LeaseDuration)
		left.short = m.cfg.Heritage.short + 1
	}
	return left
}

func (m *Member) take(in Input) {
	switch in := in.(type) {
	case Elections:
		m.enter(in.Added)
	case Removed:
		m.remove(in.ID, in.Why)
	case Prefer:
		m.prefer(in.Preference)
	case Ready:
		m.tendReadiness(in)
	case Shown:
		if s := m.watchOf(in.Watch); s != nil {
			m.watched(s, in.Event, in.At)
		}
	case WatchEnded:
		if s := m.watchOf(in.Watch); s != nil {
			m.ended(s, in.Err)
		}
	case Answered:
		m.answered(in)
	case Returned:
		m.returned(in)
	case Leave:
		m.leave(machine.ReasonShutdown)
	default:
		panic(fmt.Sprintf("member: told %T", in))
	}
}

// attend does all that is due now, and what that makes due: else that would wait until something
// wakes the member.
func (m *Member) attend() {
	for m.attendOnce() {
	}
}

// attendOnce says whether to attend again: it dropped an election, began to leave, or lost the session,
// which may make more due.
func (m *Member) attendOnce() (again bool) {
	for c := m.timers.due(m.now); c != nil; c = m.timers.due(m.now) {
		m.woken(c)
	}
	m.tendBeats()
	m.tendDisowned()
	if m.ending != "" {
		m.leave(m.ending)
	}
	if m.unreadyAt <= m.now {
		m.unreadyAt = 0
	}
	if m.publishAt != 0 && m.publishAt <= m.now {
		m.published, m.publishAt = m.preference.Digest(), 0
	}
	m.own.Publish(m.says())
	leaving := m.leaving
	dropped := m.settle()
	if m.endsSession() {
		m.own.Leave()
	}
	m.tendSession()
	m.tendSight()
	m.tendView()
	m.tendUnlike()
	m.tendStreams()
	m.tendQueue()
	return dropped || m.leaving != leaving || m.leaving == "" && m.ending != ""
}

// Wake is the earliest instant at which something is due, by which the next Step should be; zero
// for never.
func (m *Member) Wake() record.Instant {
	next := record.Instant(0)
	for _, at := range []record.Instant{
		m.timers.next(), m.sessionNext, m.viewNext, m.queueNext, m.streamNext, m.sightNext, m.lateNext,
		m.unreadyAt, m.handedBy, m.publishAt, m.unlike.next,
	} {
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return next
}
