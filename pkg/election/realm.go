package election

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// realm drives one incarnation of the member in its realm. Everything in it is owned by
// the goroutine of run; the others talk to it through inbox.
type realm struct {
	m         *Manager
	cfg       *Config
	log       *zap.Logger
	identity  string
	notBefore record.Instant
	// source has what is preferred, and preference is what this incarnation knows of that.
	source     *latest[Preference]
	preference Preference
	// published is the digest of what our session says that we see. It follows preference, at
	// publishAt; zero where it has.
	published string
	publishAt record.Instant

	ctx    context.Context // of all requests and the watch; outlives the caller's
	cancel context.CancelFunc
	inbox  chan func()
	// helpers are the watch and the runners.
	helpers sync.WaitGroup
	pool    *pool
	timers  timers

	contests contests
	streams  map[lock.Store]*stream
	// going are the contests that resigned and may still owe something; lowered, those
	// in which our standing was lowered; unready, those whose runners are not ready.
	going, lowered, unready map[*contest]bool
	// crowded: lowered and unready are too many for the session to list.
	crowded bool
	// open are those, of the elections' own locks, whose terms outlast an outage, each with
	// whether a term is on; and openNow are the names of those, for the session.
	open      map[*contest]bool
	openNow   []string
	openStale bool
	// health is what was published of a term last.
	health *health
	// postponed are elections whose locks are being released first.
	postponed []*entrant
	// setup sums up the elections that this member takes part in, others is what the other
	// members say of their timings, and unlike in what they differ from us.
	setup  setup
	others record.Bounds
	unlike unlike
	// beats are the numbers of the last writes to the locks of elections that were given
	// up: none is used twice, should they come back.
	beats map[lockName]uint64
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
	dimmed map[*contest]bool
	// answered is when we sent the first session request that got an answer after the watch had
	// been silent for a leaseDuration; zero while none did.
	answered record.Instant
	// provenAt is when the others will trust this member again after a fall.
	provenAt record.Instant
	// viewStale: the directory was shown something since the view was made.
	viewStale bool
	// sessionNext and the like are when each wants to be looked at again.
	sessionNext, viewNext, poolNext, streamNext, sightNext record.Instant

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

func newRealm(m *Manager, identity string, source *latest[Preference], notBefore record.Instant) *realm {
	r := &realm{
		m: m, cfg: &m.cfg, identity: identity, source: source, notBefore: notBefore,
		preference: notSynced,
		published:  notSynced.Digest(),
		log:        m.cfg.Log.With(zap.String("identity", identity), zap.String("revision", m.cfg.Member.Revision)),
		inbox:      make(chan func(), 256),
		contests:   contests{of: map[*entrant]*contest{}}, streams: map[lock.Store]*stream{},
		going: map[*contest]bool{}, lowered: map[*contest]bool{}, unready: map[*contest]bool{}, open: map[*contest]bool{}, dimmed: map[*contest]bool{}, handed: map[lockName]bool{}, beats: map[lockName]uint64{}, disowned: map[lockName]disowned{}, heard: map[string]sign{},
		view: &machine.View{},
	}
	r.trouble.log = r.log
	r.pool = newPool(m.cfg.Clock, writeTimeout(m.cfg.Timing), m.cfg.WritesPerSecond)
	r.dir = session.NewDirectory(m.cfg.Group, m.cfg.Timing)
	r.own = session.NewOwn(session.Config{Group: m.cfg.Group, Host: m.cfg.Host, Timing: m.cfg.Timing}, r.dir, r.member())
	return r
}

// writeTimeout is how long one request may take before its outcome counts as unknown.
func writeTimeout(t record.Timing) time.Duration {
	return min(max(t.RenewInterval, time.Second), 5*time.Second)
}

// member is what this incarnation publishes.
func (r *realm) member() record.Member {
	now := r.cfg.Clock.Now()
	m := record.Member{
		Identity: r.identity, Revision: r.cfg.Member.Revision, Location: r.cfg.Member.Location, Weight: r.cfg.Member.Weight,
		Ready: (r.leaving == "" || r.unreadyAt != 0) && r.sight.clear(), Preference: r.published, Config: digest(r.setup.names), Setup: r.setup.published(r.cfg), Open: r.openTerms(), Disowned: r.disownedNow(),
	}
	for c := range r.lowered {
		if c.state.Standing(now) {
			delete(r.lowered, c)
		}
	}
	if m.Standing, r.crowded = r.standing(); r.crowded {
		m.Ready = false
	}
	return m
}

// maxListed is how many bytes a session spends on each list of elections. All of it goes out
// with each beat, and is shown to every member.
const maxListed = 32 << 10

// standing is what our session lists, and whether that is too much to be listed.
func (r *realm) standing() (list []string, crowded bool) {
	bytes := 0
	for _, some := range []map[*contest]bool{r.lowered, r.unready} {
		for c := range some {
			if bytes += len(c.name()); bytes > maxListed {
				return []string{record.EveryElection}, true
			}
			list = append(list, c.name())
		}
	}
	slices.Sort(list)
	return slices.Compact(list), false
}

// run takes part until ctx ends or the session does. again says that the member should
// come back as a new incarnation.
func (r *realm) run(ctx context.Context) (again bool, err error) {
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		r.cancel()
		r.drainInbox()
	}()
	r.log.Info("joining", zap.String("group", r.cfg.Group))
	done := ctx.Done()
	preference, changed := r.source.get()
	r.prefer(preference)
	r.enter(r.m.all())
	if s := r.streamOf(r.cfg.Locks); s.cancel == nil {
		r.begin(s)
	}

	alarm, err := clock.NewAlarm(r.cfg.Clock)
	if err != nil {
		return false, fmt.Errorf("election manager: %w", err)
	}
	defer alarm.Stop()
	for {
		r.attend()
		if r.finished() {
			break
		}
		if at := r.next(); at != 0 {
			alarm.Set(at)
		}
		select {
		case f := <-r.inbox:
			f()
			r.drainSome()
		case <-alarm.C():
		case <-changed:
			preference, changed = r.source.get()
			r.prefer(preference)
		case <-r.m.changed:
			given := r.postponed
			r.postponed = nil
			r.enter(r.m.latest(given))
		case <-r.m.readiness:
			r.tendReadiness()
		case <-done:
			done = nil
			r.leave(machine.ReasonShutdown)
		}
	}
	r.log.Info("left", zap.String("reason", string(r.leaving)))
	return r.leaving != machine.ReasonShutdown && ctx.Err() == nil, r.failed
}

// drainSome takes what else is in the inbox, so that a burst costs one round of attend.
func (r *realm) drainSome() {
	for range cap(r.inbox) {
		select {
		case f := <-r.inbox:
			f()
		default:
			return
		}
	}
}

// drainInbox waits for all helpers and throws away what they still had to say.
func (r *realm) drainInbox() {
	gone := make(chan struct{})
	go func() { // joined by the receive from gone below
		r.helpers.Wait()
		r.pool.wait()
		close(gone)
	}()
	for {
		select {
		case <-r.inbox:
		case <-gone:
			return
		}
	}
}

// post hands f to the goroutine that owns the realm.
func (r *realm) post(f func()) { r.inbox <- f }

// attend does all that is due now.
func (r *realm) attend() {
	now := r.cfg.Clock.Now()
	for c := r.timers.due(now); c != nil; c = r.timers.due(now) {
		r.woken(c, now)
	}
	r.tendDisowned()
	if r.ending != "" {
		r.leave(r.ending)
	}
	if r.unreadyAt <= now {
		r.unreadyAt = 0
	}
	if r.publishAt != 0 && r.publishAt <= now {
		r.published, r.publishAt = r.preference.Digest(), 0
	}
	r.own.Publish(r.member())
	r.settle(now)
	if r.endsSession(now) {
		r.own.Leave()
	}
	r.tendSession(now)
	r.tendSight(now)
	r.tendView(now)
	r.tendUnlike(now)
	r.tendStreams(now)
	r.poolNext = r.pool.dispatch(r.ctx)
}

// next is the earliest instant at which something is due; zero for never.
func (r *realm) next() record.Instant {
	next := record.Instant(0)
	for _, at := range []record.Instant{r.timers.next(), r.sessionNext, r.viewNext, r.poolNext, r.streamNext, r.sightNext, r.unreadyAt, r.handedBy, r.publishAt, r.unlike.next} {
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return next
}

// enter takes up elections that were added and gives up those that were removed.
func (r *realm) enter(changed []news) {
	fresh := map[*stream]bool{}
	for _, n := range changed {
		e := n.entrant
		c := r.contests.of[e]
		switch {
		case c == nil && n.removed:
			r.m.forget(e)
		case c == nil && r.releasesStray(e):
			r.postponed = append(r.postponed, e) // settle comes back to it
		case c == nil && r.leaving == "":
			for _, s := range r.add(e) {
				fresh[s] = true
			}
		case c != nil && n.removed:
			if c.outer != nil {
				r.resign(c.outer, machine.ReasonRemoved)
			}
			r.resign(c, machine.ReasonRemoved)
		}
	}
	for s := range fresh {
		r.include(s)
	}
}

// add takes part in an election, and returns the streams that must show its locks.
func (r *realm) add(e *entrant) []*stream {
	c := newContest(r, e, e.spec.lockName())
	r.contests.add(c)
	if c.failsOpen() {
		r.open[c] = false
	}
	r.setup.add(&e.spec)
	if e.spec.MigrateFrom != nil {
		r.migration(c, e.spec.MigrateFrom)
	}
	r.noteReadiness(c)
	var streams []*stream
	c.each(func(c *contest) {
		s := r.streamOf(c.lock.store)
		s.byLock[c.lock.name] = c
		streams = append(streams, s)
		r.handle(c, r.preferenceOf(c))
		r.handle(c, machine.DirectoryChanged{View: r.view})
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
func (r *realm) settle(now record.Instant) {
	dropped := false
	for c := range r.going {
		if !c.state.Settled(c.config(), now) {
			continue
		}
		if c.inner != nil && r.going[c.inner] {
			continue // its work is the inner one
		}
		r.handOver(c, now)
		r.drop(c)
		if c.outer != nil && r.going[c.outer] {
			continue
		}
		r.contests.remove(c.entrant)
		dropped = true
		if c.entrant.stray {
			r.m.tell() // an election may be waiting for this lock
		}
		if r.leaving != "" {
			continue // what the session says of it goes with the session
		}
		if !c.entrant.stray {
			r.setup.remove(&c.entrant.spec)
		}
		r.m.forget(c.entrant)
	}
	if dropped && len(r.contests.all) == 0 {
		// Locks with ranges may have taken all the time that there was.
		r.giveUpAt = max(r.giveUpAt, now.Add(r.cfg.Timing.RenewInterval))
	}
}

// drop ends a contest: what still arrives for it changes nothing.
func (r *realm) drop(c *contest) {
	c.over = true
	c.notices = notices{}
	r.timers.set(c, 0)
	r.trouble.forget(c.lock.name)
	delete(r.going, c)
	delete(r.dimmed, c)
	r.closed(c)
	if r.leaving == "" { // who leaves does not stand for it again meanwhile
		delete(r.lowered, c)
		delete(r.unready, c)
	}
	delete(r.streamOf(c.lock.store).byLock, c.lock.name)
	r.beats[c.lock] = c.state.Beat
}

// prefer takes in what is preferred; the session publishes that we see it: at once, where our
// revision is preferred in an election, since its holder waits for that; else a moment later.
// An election for which nothing changed is not told.
func (r *realm) prefer(p Preference) {
	r.preference = p
	r.log.Info("preferred revision", zap.String("preferred", p.Digest()))
	gains := false
	r.contests.each(func(c *contest) {
		e := r.preferenceOf(c)
		gains = gains || e.Preferred.Revision == r.cfg.Member.Revision
		if e.Preferred != c.state.Preferred || e.Digest != c.state.Digest {
			r.handle(c, e)
		}
	})
	switch {
	case gains || !r.own.Joined() || r.published == notSynced.Digest():
		r.publishAt = r.cfg.Clock.Now()
	case r.publishAt == 0: // however often it changes, the others hear of it
		r.publishAt = r.cfg.Clock.Now().Add(gainersFirst)
	}
}

// preferenceOf is what this incarnation knows of an election's preferred revision.
func (r *realm) preferenceOf(c *contest) machine.PreferenceChanged {
	return machine.PreferenceChanged{Preferred: r.preference.For(c.name()), Digest: r.preference.Digest()}
}

// tendView tells every election when the living members, or what they publish, changed.
func (r *realm) tendView(now record.Instant) {
	if !r.viewStale && (r.viewNext == 0 || now < r.viewNext) {
		return
	}
	r.compare(now)
	view, changes := r.dir.View(now, r.identity)
	r.viewStale, r.viewNext = false, changes
	if reflect.DeepEqual(view, r.view) {
		return
	}
	r.view = view
	r.contests.each(func(c *contest) { r.handle(c, machine.DirectoryChanged{View: view}) })
}

// tendSession lets the session do what is due.
func (r *realm) tendSession(now record.Instant) {
	actions, next := r.own.Step(now)
	r.sessionNext = next
	if at := r.own.ProvenAt(); at != r.provenAt {
		r.provenAt = at
		if at > now {
			r.log.Info("an earlier session of this host did not end by itself: its member crashed, or could not reach the API for as long as it lasts; until it has proven itself no leadership moves to this member for its rank",
				zap.Duration("for", at.Sub(now)))
		}
	}
	for _, a := range actions {
		switch a := a.(type) {
		case session.Write:
			if a.Beat == 0 && (r.leaving != "" || r.spares(a.Name)) {
				continue // it is asked for again; who leaves does not know any more whom to spare
			}
			r.pool.start(r.ctx, request{store: r.cfg.Locks, name: a.Name, purpose: machine.Renew, write: &a.Record, replaces: a.If, done: func(ans answer) {
				r.post(func() { r.sessionWritten(a, ans) })
			}})
		case session.Read:
			r.pool.start(r.ctx, request{store: r.cfg.Locks, name: a.Name, done: func(ans answer) {
				r.post(func() { r.sessionRead(a.Name, ans) })
			}})
		default:
			panic(fmt.Sprintf("election: session asked for %T", a))
		}
	}
	if why, lost := r.own.Lost(); lost && r.leaving == "" {
		r.log.Warn("session lost; everything stops, and the member comes back under a new identity", zap.String("reason", string(why)))
		r.leave(machine.ReasonSession)
	}
	if r.leaving != "" && len(r.contests.all) == 0 && !r.own.Over() && now >= r.giveUpAt {
		r.log.Warn("the session could not be ended in time; it will expire", zap.String("session", r.own.Name()))
		r.own.Abandon()
	}
}

func (r *realm) sessionWritten(w session.Write, a answer) {
	now := r.cfg.Clock.Now()
	if a.outcome == lock.Committed {
		r.viewStale = true
		r.streamOf(r.cfg.Locks).reaches(a.entry.Version.Revision)
		r.dir.Observe(now, w.Name, a.entry.Record, a.entry.Version)
	}
	if w.Beat == 0 {
		return // another's session; the stream shows what became of it
	}
	if a.outcome != lock.Unknown {
		r.heardOf = now
	}
	r.trouble.note("session", w.Name, a.err)
	r.answeredFor(a)
	outcome := outcomeOf(a)
	if outcome == machine.Refused {
		r.excuse(now)
	}
	if errors.Is(a.err, lock.ErrInvalid) {
		r.own.Unfit(w.Beat)
	}
	r.own.WriteDone(now, w.Beat, outcome, a.entry.Version)
}

// restored gives this incarnation up: the store shows less than it did, so it was reset to
// an earlier state (rule newer-by-version).
func (r *realm) restored(now record.Instant) {
	if r.leaving != "" {
		return
	}
	r.notBefore = max(r.notBefore, now.Add(r.cfg.Timing.ObserverWait(r.cfg.Timing.LeaseDuration)))
	r.leave(machine.ReasonRestored)
}

func (r *realm) sessionRead(name string, a answer) {
	now := r.cfg.Clock.Now()
	if a.err != nil {
		r.own.ReadFailed(now, name)
		return
	}
	r.answeredFor(a)
	r.viewStale = true
	if !r.dir.Read(now, a.sent, name, a.entry.Record, a.entry.Version) {
		r.restored(now)
	}
	r.own.ReadDone(name)
}
