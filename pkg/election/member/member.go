package member

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// Member is one incarnation of a member in its realm: a value that is stepped. It takes what
// happens as Inputs and answers with Effects. It starts no goroutine, reads no clock, asks
// nobody, and goes on alike when it is told the same: see doc.go. It is for one goroutine.
type Member struct {
	cfg      Config
	identity string
	// now and wall are the instant of the step that is under way.
	now    record.Instant
	wall   time.Time
	out    effects
	log    logger
	chance rand.PCG

	notBefore record.Instant
	// hushed: it was told that the realm's own watch is silent, and it has not shown a change since.
	hushed bool
	// preference is what this incarnation knows of what is preferred.
	preference Preference
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

	contests contests
	// strays counts those elections that are for locks that were left behind.
	strays  int
	streams []*stream
	// going are the contests that resigned and may still owe something; lowered, those
	// in which our standing was lowered; unready, those whose runners are not ready.
	going, lowered, unready set[*contest]
	// crowded: lowered and unready are too many for the session to list.
	crowded bool
	// open are those, of the elections' own locks, whose terms outlast an outage, each with
	// whether a term is on; and openNow are the names of those, for the session.
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
	// untold are the names of those that the log does not tell of yet.
	untold []string
	// heard is when the owner of each session was last heard of, by the session's name, for the
	// log.
	heard map[string]sign

	dir     *session.Directory
	own     *session.Own
	view    *machine.View
	trouble troubles
	// beat is the last one of our session that its stream has shown.
	beat machine.BeatSeen
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
	// sessionNext and the like are when each wants to be looked at again.
	sessionNext, viewNext, queueNext, streamNext, sightNext record.Instant

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
	// ending is set by a machine that found this incarnation to be beyond trust.
	ending machine.Reason
}

// notSynced is what is preferred before the source said anything.
var notSynced = record.Preferred{State: record.PreferredNotSynced}

// New is an incarnation that has not joined yet.
func New(cfg Config) *Member {
	m := &Member{
		cfg: cfg, identity: cfg.Identity, notBefore: cfg.Heritage.notBefore, sight: cfg.Heritage.saw, hushed: cfg.Heritage.hushed,
		chance:     *rand.NewPCG(cfg.Chance[0], cfg.Chance[1]),
		preference: notSynced,
		published:  notSynced.Digest(),
		asked:      map[uint64]asked{},
		contests:   contests{of: map[ID]*contest{}},
		open:       map[*contest]bool{}, handed: map[lockName]bool{}, gone: map[lockName]gone{}, disowned: map[lockName]disowned{}, heard: map[string]sign{},
		view: &machine.View{},
	}
	m.log = logger{to: &m.out}.With(zap.String("identity", cfg.Identity), zap.String("revision", cfg.Revision))
	m.trouble.log = m.log
	m.queue = newQueue(WriteTimeout(cfg.Timing), cfg.WritesPerSecond)
	m.dir = session.NewDirectory(cfg.Group, cfg.Timing)
	m.own = session.NewOwn(session.Config{Group: cfg.Group, Host: cfg.Host, Timing: cfg.Timing}, m.dir, m.member())
	return m
}

// jitter is left to chance, from 0 to 1.
func (m *Member) jitter() float64 { return float64(m.chance.Uint64()>>11) / (1 << 53) }

// member is what this incarnation publishes.
func (m *Member) member() record.Member {
	for _, c := range m.lowered.all() {
		if c.state.Standing(m.now) {
			m.lowered.remove(c)
		}
	}
	says := record.Member{
		Identity: m.identity, Revision: m.cfg.Revision, Location: m.cfg.Location, Weight: m.cfg.Weight,
		Ready:      (m.leaving == "" || m.unreadyAt != 0) && m.sight.clear(),
		Preference: m.published, Config: digest(m.setup.names), Setup: m.setup.published(&m.cfg), Open: m.openTerms(),
		Disowned: m.disownedNow(),
	}
	if says.Standing, m.crowded = m.standing(); m.crowded {
		says.Ready = false
	}
	return says
}

// maxListed is how many bytes a session spends on each list of elections. All of it goes out
// with each beat, and is shown to every member.
const maxListed = 32 << 10

// standing is what our session lists, and whether that is too much to be listed.
func (m *Member) standing() (list []string, crowded bool) {
	bytes := 0
	for _, some := range [][]*contest{m.lowered.list, m.unready.list} {
		for _, c := range some {
			if bytes += len(c.name()); bytes > maxListed {
				return []string{record.EveryElection}, true
			}
			list = append(list, c.name())
		}
	}
	slices.Sort(list)
	return slices.Compact(list), false
}

// Step takes in what has happened by now, of which wall is the time on the wall, does what is due,
// and returns what the host is to do, in order. The effects are the caller's until the next Step.
func (m *Member) Step(now record.Instant, wall time.Time, inputs ...Input) []Effect {
	m.now, m.wall = now, wall
	if cap(m.out.list) > mostKept {
		m.out.list = nil
	}
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
	return m.out.list
}

// mostKept is how many effects the memory is kept for.
const mostKept = 1024

// Over says whether this incarnation owes nothing any more. Its watches and requests may be
// dropped then.
func (m *Member) Over() bool { return m.finished() }

// Again says whether the member is to come back as another incarnation once this one is over,
// and the error for which a store cannot be used at all.
func (m *Member) Again() (bool, error) { return m.leaving != machine.ReasonShutdown, m.failed }

// Heritage is what the next incarnation needs to know of this one, which is over.
func (m *Member) Heritage() Heritage {
	left := Heritage{notBefore: m.notBefore, saw: m.sight, hushed: m.hushed}
	if m.now < m.born.Add(m.cfg.Timing.LeaseDuration) {
		left.Pause = record.Doubled(m.cfg.Timing.RenewInterval, m.cfg.Heritage.short)
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
		m.answer(in)
	case Returned:
		m.returned(in)
	case Leave:
		m.leave(machine.ReasonShutdown)
	default:
		panic(fmt.Sprintf("member: told %T", in))
	}
}

// attend does all that is due now.
func (m *Member) attend() {
	for c := m.timers.due(m.now); c != nil; c = m.timers.due(m.now) {
		m.woken(c)
	}
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
	m.own.Publish(m.member())
	m.settle()
	if m.endsSession() {
		m.own.Leave()
	}
	m.tendSession()
	m.tendSight()
	m.tendView()
	m.tendUnlike()
	m.tendStreams()
	m.tendQueue()
}

// Wake is the earliest instant at which something is due, by which the next Step should be; zero
// for never.
func (m *Member) Wake() record.Instant {
	next := record.Instant(0)
	for _, at := range []record.Instant{m.timers.next(), m.sessionNext, m.viewNext, m.queueNext, m.streamNext, m.sightNext, m.unreadyAt, m.handedBy, m.publishAt, m.unlike.next} {
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return next
}

// enter takes up elections that were added.
func (m *Member) enter(added []*Election) {
	var fresh set[*stream]
	for _, e := range added {
		switch {
		case m.releasesStray(e):
			m.postponed = append(m.postponed, e) // settle comes back to it
		case m.leaving == "":
			for _, s := range m.add(e) {
				fresh.add(s)
			}
		}
	}
	for _, s := range fresh.list {
		m.include(s)
	}
}

// remove gives up an election.
func (m *Member) remove(id ID, why machine.Reason) {
	c := m.contests.of[id]
	if c == nil {
		m.postponed = slices.DeleteFunc(m.postponed, func(e *Election) bool { return e.ID == id })
		m.out.add(Forgotten{id})
		return
	}
	if c.outer != nil {
		m.resign(c.outer, why)
	}
	m.resign(c, why)
}

// add takes part in an election, and returns the streams that must show its locks.
func (m *Member) add(election *Election) []*stream {
	c := newContest(m, election, election.lockName())
	m.contests.add(c)
	if c.failsOpen() {
		m.open[c] = false
	}
	m.setup.add(election)
	if from := election.MigrateFrom; from != nil {
		m.migration(c, from)
	}
	if election.Unready {
		m.unready.add(c)
	}
	var streams []*stream
	c.each(func(c *contest) {
		s := m.streamOf(c.lock.store)
		s.byLock[c.lock.name] = c
		streams = append(streams, s)
		m.handle(c, m.preferenceOf(c))
		m.handle(c, machine.DirectoryChanged{View: m.view})
	})
	return streams
}

// each calls f for the election's contests, the outer one first.
func (c *contest) each(f func(*contest)) {
	for _, one := range []*contest{c.outer, c} {
		if one != nil && !one.over { // of a migration that is removed one may be over before the other
			f(one)
		}
	}
}

// settle drops the elections that were given up and owe nothing any more.
func (m *Member) settle() {
	var dropped, stray bool
	for _, c := range m.going.all() {
		if !c.state.Settled(c.config(), m.now) {
			continue
		}
		if c.inner != nil && m.going.has(c.inner) {
			continue // its work is the inner one
		}
		m.handOver(c)
		m.drop(c)
		if c.outer != nil && m.going.has(c.outer) {
			continue
		}
		m.contests.remove(c)
		dropped = true
		stray = stray || c.stray
		if m.leaving != "" {
			continue // what the session says of it goes with the session
		}
		if !c.stray {
			m.setup.remove(c.election)
			m.out.add(Forgotten{c.election.ID})
		}
	}
	if dropped && len(m.contests.all) == 0 {
		// Locks with ranges may have taken all the time that there was.
		m.giveUpAt = max(m.giveUpAt, m.now.Add(m.cfg.Timing.RenewInterval))
	}
	if stray { // an election may be waiting for this lock
		given := m.postponed
		m.postponed = nil
		m.enter(given)
	}
}

// drop ends a contest: what still arrives for it changes nothing.
func (m *Member) drop(c *contest) {
	c.over = true
	c.notices = notices{}
	m.timers.set(c, 0)
	m.trouble.forget(c.lock.name)
	m.going.remove(c)
	m.dimmed.remove(c)
	m.closed(c)
	if m.leaving == "" { // who leaves does not stand for it again meanwhile
		m.lowered.remove(c)
		m.unready.remove(c)
	}
	delete(m.streamOf(c.lock.store).byLock, c.lock.name)
	m.gone[c.lock] = gone{c.state.Beat, c.election}
}

// prefer takes in what is preferred; the session publishes that we see it: at once, where our
// revision is preferred in an election, since its holder waits for that; else a moment later.
// An election for which nothing changed is not told.
func (m *Member) prefer(p Preference) {
	m.preference = p
	m.log.Info("preferred revision", zap.String("preferred", p.Digest()))
	gains := false
	m.contests.each(func(c *contest) {
		e := m.preferenceOf(c)
		gains = gains || e.Preferred.Revision == m.cfg.Revision
		if e.Preferred != c.state.Preferred || e.Digest != c.state.Digest {
			m.handle(c, e)
		}
	})
	switch {
	case gains || !m.own.Joined() || m.published == notSynced.Digest():
		m.publishAt = m.now
	case m.publishAt == 0: // however often it changes, the others hear of it
		m.publishAt = m.now.Add(gainersFirst)
	}
}

// preferenceOf is what this incarnation knows of an election's preferred revision.
func (m *Member) preferenceOf(c *contest) machine.PreferenceChanged {
	return machine.PreferenceChanged{Preferred: m.preference.For(c.name()), Digest: m.preference.Digest()}
}

// tendView tells every election when the living members, or what they publish, changed.
func (m *Member) tendView() {
	if !m.viewStale && (m.viewNext == 0 || m.now < m.viewNext) {
		return
	}
	m.compare()
	view, changes := m.dir.View(m.now, m.identity)
	m.viewStale, m.viewNext = false, changes
	if reflect.DeepEqual(view, m.view) {
		return
	}
	m.view = view
	m.contests.each(func(c *contest) { m.handle(c, machine.DirectoryChanged{View: view}) })
}

// tendSession lets the session do what is due.
func (m *Member) tendSession() {
	actions, next := m.own.Step(m.now)
	m.sessionNext = next
	if at := m.own.ProvenAt(); at != m.provenAt {
		m.provenAt = at
		if at > m.now {
			m.log.Info("an earlier session of this host did not end by itself: its member crashed, or could not reach the API for as long as it lasts; until it has proven itself no leadership moves to this member for its rank",
				zap.Duration("for", at.Sub(m.now)))
		}
	}
	for _, a := range actions {
		switch a := a.(type) {
		case session.Write:
			if a.Beat == 0 && (m.leaving != "" || m.spares(a.Name)) {
				continue // it is asked for again; who leaves does not know any more whom to spare
			}
			m.send(asked{session: a, request: request{store: Own, name: a.Name, write: &a.Record, replaces: a.If}})
		case session.Read:
			m.send(asked{session: a, request: request{store: Own, name: a.Name}})
		default:
			panic(fmt.Sprintf("member: session asked for %T", a))
		}
	}
	if why, lost := m.own.Lost(); lost && m.leaving == "" {
		m.log.Warn("session lost; everything stops, and the member comes back under a new identity", zap.String("reason", string(why)))
		m.leave(machine.ReasonSession)
	}
	if m.leaving != "" && len(m.contests.all) == 0 && !m.own.Over() && m.now >= m.giveUpAt {
		m.log.Warn("the session could not be ended in time; it will expire", zap.String("session", m.own.Name()))
		m.own.Abandon()
	}
}

func (m *Member) sessionWritten(w session.Write, a answer) {
	if a.outcome == lock.Committed {
		m.viewStale = true
		m.streamOf(Own).reaches(a.entry.Version.Revision)
		m.dir.Observe(m.now, w.Name, a.entry.Record, a.entry.Version)
	}
	if w.Beat == 0 {
		return // another's session; the stream shows what became of it
	}
	if a.outcome != lock.Unknown {
		m.heardOf = m.now
	}
	m.trouble.note("session", w.Name, a.err)
	m.answeredFor(a)
	outcome := outcomeOf(a)
	if outcome == machine.Refused {
		m.excuse()
	}
	if errors.Is(a.err, lock.ErrInvalid) {
		m.own.Unfit(w.Beat)
	}
	m.own.WriteDone(m.now, w.Beat, outcome, a.entry.Version)
}

// restored gives this incarnation up: the store shows less than it did, so it was reset to
// an earlier state (rule newer-by-version).
func (m *Member) restored() {
	if m.leaving != "" {
		return
	}
	m.notBefore = max(m.notBefore, m.now.Add(m.cfg.Timing.ObserverWait(m.cfg.Timing.LeaseDuration)))
	m.leave(machine.ReasonRestored)
}

func (m *Member) sessionRead(name string, a answer) {
	if a.err != nil {
		m.own.ReadFailed(m.now, name)
		return
	}
	m.answeredFor(a)
	m.viewStale = true
	if !m.dir.Read(m.now, a.sent, name, a.entry.Record, a.entry.Version) {
		m.restored()
	}
	m.own.ReadDone(name)
}
