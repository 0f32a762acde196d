package member

import (
	"fmt"
	"hash/fnv"
	"maps"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Member is one incarnation of a member in its realm. One goroutine at a time steps it. The package doc
// has the contract of a step.
type Member struct {
	cfg      Config
	identity string
	// now and wall are the instant and the wall-clock time of the current step.
	now  record.Instant
	wall time.Time
	out  effects
	log  logger
	// room is memory for the actions of the next machine's step.
	room []machine.Action

	// notBefore is the earliest instant at which this incarnation may take a lock.
	notBefore record.Instant
	// setBack: this incarnation has noticed that the store was set back.
	setBack bool
	// hushed: we logged that the realm's own watch is silent, and it has shown no change since.
	hushed bool
	// preference is the latest one that the host gave us.
	preference Preference
	// preferred is the result of the last look-up, shared by elections that prefer the same.
	preferred *preferred
	// published is the digest of the preference that our session publishes. At publishAt we set it to the
	// digest of preference; publishAt is zero once that is done.
	published string
	// lags is what Lags said last.
	lags      string
	publishAt record.Instant

	// born is the instant of the first step; zero before.
	born  record.Instant
	queue queue
	// asked are the requests without an answer. requests and watches are the last numbers given out.
	asked             map[uint64]asked
	requests, watches uint64
	timers            timers
	// salt is odd, and differs between incarnations.
	salt uint64

	contests contests
	// strays is the ID of the last election that we made up to release a stray lock, counting down.
	strays  int
	streams []*stream
	// going are the contests that resigned and may still have writes or work to finish; lowered, those
	// in which our standing is lowered because runners failed; unready, those whose runners are not ready.
	going, lowered, unready set[*contest]
	// heedful are the contests to step at each beat of our session. byBeats counts the contests with a
	// term that follows the beats and needs no step.
	heedful set[*contest]
	byBeats int
	// unpublished are the contests that were added since the last beat that the store has shown of our session: others cannot know
	// yet how long their terms may last (rule published-before-held).
	unpublished set[*contest]
	// longestGrace is the longest stopGrace so far among elections with `renewal: session`.
	longestGrace time.Duration
	// lacks says why the runners of the contests in unready are not ready.
	lacks map[*contest]string
	// crowded: lowered and unready are too many for the session to list.
	crowded bool
	// open has the contests whose terms fail open (of a migration the inner one); the value is true while
	// a term is on. openNow are the names of those with a term, as the session lists them; openStale says
	// that openNow is out of date.
	open      map[*contest]bool
	openNow   []string
	openStale bool
	// health is the last Health that a term got; terms with the same share it.
	health *Health
	// postponed are added elections that wait until one of their locks, a stray, is released.
	postponed []*Election
	// setup sums up the elections that this member takes part in. others are the timings that the
	// other members publish, and unlike is how they differ from us.
	setup  setup
	others record.Bounds
	unlike unlike
	// gone are the locks of elections that were given up. unshown is what locks do not show that we gave up, or an
	// earlier incarnation did: who may be at work under them, and what a stranger may put back.
	gone    map[lockName]gone
	unshown map[lockName]unshown
	// stores are all that have a lock in these maps, or had one.
	stores []Store
	// disowned are the locks for which we could write neither a release nor a take.
	disowned map[lockName]disowned
	// sendings are the writes to locks whose answers have not come.
	sendings map[*contest][]sending
	// created are the new locks whose wait was not logged yet.
	created created
	// untold are the names of disowned locks that were not logged yet.
	untold []string
	// heard has the last sign of life of each session's owner, by the session's name; unheardOf has it, by identity, for former owners
	// that hold locks whose terms fail open.
	heard, unheardOf map[string]sign

	dir     *session.Directory
	own     *session.Own
	view    *machine.View
	trouble troubles
	// beat is the last beat of our session that the stream has shown.
	beat machine.Beat
	// toldLate: the terms that follow the beats were stepped because the next beat is late.
	toldLate bool
	// soundSince is when the stream first showed, after a silence, that the store takes our beats. See sawBeat.
	soundSince record.Instant
	// heardOf is when the store last answered a write of our session.
	heardOf record.Instant
	// sight says whether our beats come back in time.
	sight sight
	// dimmed are the contests that are paused until our beats come back in time. Only a member with a
	// term that fails open pauses contests so; see blind.
	dimmed set[*contest]
	// answeredAt is when we sent the first session request that got an answer after the watch had
	// been silent for a leaseDuration; zero while none did.
	answeredAt record.Instant
	// provenAt is when the others will trust this member again after a fall (rule no-flapping).
	provenAt record.Instant
	// viewStale: the directory has changed since the view was made.
	viewStale bool
	// sessionNext and the others say when to look at each part again; zero for never.
	sessionNext, viewNext, queueNext, streamNext, sightNext, lateNext record.Instant

	// failed is why a store cannot be used at all.
	failed error
	// unreadyAt is when a leaving member tells the others that it is not ready any more; zero
	// once it has.
	unreadyAt record.Instant
	// handed are the locks that a leaving member released and that their nominees have not taken yet.
	// The leaving member waits for these nominees until handedBy.
	handed   map[lockName]bool
	handedBy record.Instant
	// giveUpAt is until when a leaving member tries to end its session.
	giveUpAt record.Instant
	// leaving is why this member leaves; empty while it does not.
	leaving machine.Reason
	// ending is why this member must leave, set in the middle of another transition. Leaving touches
	// every contest, so attend does it.
	ending machine.Reason
}

// New returns an incarnation that has not joined yet.
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
		lacks:      map[*contest]string{},
		handed:     map[lockName]bool{},
		gone:       map[lockName]gone{},
		unshown:    map[lockName]unshown{},
		disowned:   map[lockName]disowned{},
		heard:      map[string]sign{},
		unheardOf:  map[string]sign{},
		view:       &machine.View{},
	}
	m.inherit(cfg.Heritage.unshown)
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

// jitter is a random number from 0 to 1.
func (m *Member) jitter() float64 { return float64(m.cfg.Chance.Uint64()>>11) / (1 << 53) }

// Step handles the inputs, does what is due at now, and returns what the host must do, in order. wall is
// the wall-clock time at now. The effects are the caller's until the next Step.
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

// mostKept is the largest capacity of the list of effects that the next step reuses. When a watch lists
// thousands of locks, one step has as many effects; keeping that memory would be waste.
const mostKept = 64

// Over says whether this incarnation has left for good: no work, lock or session remains. The host may
// then drop its watches and requests.
func (m *Member) Over() bool { return m.leaving != "" && len(m.contests.all) == 0 && m.own.Over() }

// SessionEnded says whether the session is over and is seen not to be ours any more, or was never written.
func (m *Member) SessionEnded() bool { return m.own.Ended() }

// Again says whether the member comes back as another incarnation once this one is over. The error is
// why a store cannot be used at all, if so.
func (m *Member) Again() (bool, error) { return m.leaving != machine.ReasonShutdown, m.failed }

// Heritage is what the next incarnation needs to know of this one, which is over.
func (m *Member) Heritage() Heritage {
	left := Heritage{notBefore: m.notBefore, bounds: m.bounds(), saw: m.sight, hushed: m.hushed, unshown: m.unshown}
	if !m.setBack {
		left.newest = m.newest()
	}
	if m.now < m.born.Add(m.cfg.Timing.LeaseDuration) {
		left.Pause = min(record.Doubled(m.cfg.Timing.RenewInterval, m.cfg.Heritage.short), m.cfg.Timing.LeaseDuration)
		left.short = m.cfg.Heritage.short + 1
	}
	return left
}

// newestOf is the newest revision of the store that this incarnation knows, or an earlier one knew.
func (m *Member) newestOf(s Store) uint64 { return max(m.streamOf(s).newest, m.cfg.Heritage.newest[s]) }

// newest is the newest revision of each store that this incarnation knows, or an earlier one knew.
func (m *Member) newest() map[Store]uint64 {
	all := map[Store]uint64{}
	maps.Copy(all, m.cfg.Heritage.newest)
	for _, s := range m.streams {
		all[s.store] = m.newestOf(s.store)
	}
	return all
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
	case Lags:
		m.lags = in.Why
	case Shown:
		if s := m.watchOf(in.Watch); s != nil {
			m.watched(s, in.Event, in.At)
		}
	case WatchEnded:
		if s := m.watchOf(in.Watch); s != nil {
			m.ended(s, in.Err)
		}
	case ListSent:
		if s := m.watchOf(in.Watch); s != nil {
			m.listSent(s, in.At)
		}
	case ListFailed:
		if s := m.watchOf(in.Watch); s != nil && s.relisting && in.Trial == s.trials {
			m.listFailed(s, in.Err)
		}
	case ListPassed:
		if s := m.watchOf(in.Watch); s != nil && s.relisting && in.Trial == s.trials {
			s.passed = true
			m.begin(s)
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

// attend does all that is due now, and all that becomes due as a result, which would otherwise wait for
// the next wake-up.
func (m *Member) attend() {
	for m.attendOnce() {
	}
}

// attendOnce says whether to attend again: if it dropped an election, began to leave, or lost the
// session, more may be due.
func (m *Member) attendOnce() (again bool) {
	for c := m.timers.due(m.now); c != nil; c = m.timers.due(m.now) {
		m.woken(c)
	}
	m.tendBeats()
	m.tendDisowned()
	m.tendCreated()
	if m.ending != "" {
		m.leave(m.ending)
	}
	m.tendSetBack()
	if m.unreadyAt <= m.now {
		m.unreadyAt = 0
	}
	if m.publishAt != 0 && m.publishAt <= m.now {
		m.published, m.publishAt = m.preference.Digest(), 0
	}
	m.own.Publish(m.says())
	leaving := m.leaving
	dropped := m.settle()
	switch {
	case !m.endsSession():
	case m.setBack:
		m.own.Abandon() // its end would free locks, as a release would
	default:
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

// Wake is the earliest instant at which something is due. The host should Step by then; zero for never.
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
