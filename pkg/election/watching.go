package election

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// stream is the watch of one store: the realm's own, which carries the sessions too, or
// that of another kind of lock.
type stream struct {
	store lock.Store
	// names are the objects that are watched; nil for all that there are.
	names []string
	// byLock are the contests whose locks are in the store.
	byLock map[string]*contest
	cancel context.CancelFunc
	// listSent is when the list that is under way was asked for.
	listSent record.Instant
	// view is told beside each lock of the list that is being taken in; else nil.
	view *machine.View
	// restart: the stream is to be begun anew, with a list.
	restart bool
	// listing: its list has not come yet. begunAt is when it was begun, and
	// beginAt when it is to be begun anew; zero for never.
	listing          bool
	begunAt, beginAt record.Instant
	// heardAt is when it last said anything.
	heardAt record.Instant
	// listPatience is how long a list may say nothing, once one was cut for that.
	listPatience time.Duration
	// cut: it broke, and has not shown anything since.
	cut bool
	// newest is the newest revision of the store that this member was shown, by whatever.
	newest uint64
}

// reaches takes in that the store has come as far as the revision.
func (s *stream) reaches(revision uint64) { s.newest = max(s.newest, revision) }

// late says whether an election was added too late for the list that is or was read last.
func (s *stream) late() bool {
	for _, c := range s.byLock {
		if !c.listed && c.began > s.listSent {
			return true
		}
	}
	return false
}

// streamOf is the stream of the store; it is begun if there is none yet.
func (r *realm) streamOf(store lock.Store) *stream {
	s := r.streams[store]
	if s == nil {
		s = &stream{store: store, byLock: map[string]*contest{}}
		r.streams[store] = s
	}
	return s
}

// carriesSessions says whether the stream is that of the realm's own store.
func (r *realm) carriesSessions(s *stream) bool { return s.store == r.cfg.Locks }

// begin reads the stream on a goroutine that ends with the realm's context. One that is
// being read is begun anew, so that a list shows everything there is.
func (r *realm) begin(s *stream) {
	s.heardAt, s.beginAt = r.cfg.Clock.Now(), 0
	if s.cancel != nil {
		s.restart = true
		s.cancel()
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	s.cancel, s.restart = cancel, false
	s.listing, s.begunAt = true, s.heardAt
	watch := s.store.Watch
	if by, ok := s.store.(lock.NameWatcher); ok {
		names := slices.Sorted(maps.Keys(s.byLock))
		s.names = append([]string{}, names...) // not nil: none is not all
		watch = func(ctx context.Context, deliver func(lock.Event)) error { return by.WatchNames(ctx, names, deliver) }
	}
	r.helpers.Go(func() {
		defer cancel()
		err := watch(ctx, func(e lock.Event) {
			at := r.cfg.Clock.Now()
			r.post(func() { r.watched(s, e, at) })
		})
		r.post(func() { r.ended(s, err) })
	})
}

// leastBetweenLists is the time between two lists that show locks of new elections. What is
// added meanwhile shares one, which may be of many thousand objects.
const leastBetweenLists = time.Second

// include sees to it that a list shows the locks of elections that were just added.
func (r *realm) include(s *stream) {
	at := s.begunAt.Add(leastBetweenLists)
	switch {
	case s.listing && s.names == nil && s.cancel != nil:
		// The list that is under way comes first, and then the one that it is too early for.
	case s.cancel == nil || r.cfg.Clock.Now() >= at:
		r.begin(s)
	default:
		s.beginAt = at
	}
}

// tendStreams begins those streams anew whose time has come, and the realm's when it has
// gone silent.
func (r *realm) tendStreams(now record.Instant) {
	r.tendStream(now)
	for _, s := range r.streams {
		switch {
		case s.beginAt == 0:
		case now >= s.beginAt:
			r.begin(s)
		case r.streamNext == 0 || s.beginAt < r.streamNext:
			r.streamNext = s.beginAt
		}
	}
}

// tendStream begins the realm's own stream anew when it has gone silent: it would show
// our own beats at the least, so a member that hears nothing is blind.
func (r *realm) tendStream(now record.Instant) {
	s := r.streamOf(r.cfg.Locks)
	silent := s.heardAt.Add(r.patience(s))
	if now < silent {
		r.streamNext = silent
		return
	}
	if s.listing && (!r.own.Joined() || r.heardOf > s.begunAt) {
		s.listPatience = 2 * r.patience(s) // it is slow; else the store is away, and may have lost it
	}
	r.log.Warn("the watch is silent although our own beats should show; it is begun anew")
	r.broken(s) // whoever is away may be as alive as we are
	r.begin(s)
	r.streamNext = s.heardAt.Add(r.patience(s))
}

// mostListPatience bounds how long a list may say nothing; a store gives one up by then.
const mostListPatience = 30 * time.Second

// patience is how long the realm's own stream may say nothing. A list takes as long as it
// takes: each that is cut leaves the next one twice the time.
func (r *realm) patience(s *stream) time.Duration {
	lease := r.cfg.Timing.LeaseDuration
	if !s.listing {
		return lease
	}
	return max(lease, min(s.listPatience, mostListPatience))
}

// excuse takes in that a beat of ours was refused: the realm's stream has none to show.
func (r *realm) excuse(now record.Instant) {
	s := r.streamOf(r.cfg.Locks)
	s.heardAt = max(s.heardAt, now)
}

// shows says whether the object is among those that are watched. One whose election was
// added since then is not: its lack in a list says nothing.
func (s *stream) shows(name string) bool {
	if s.names == nil {
		return true
	}
	_, found := slices.BinarySearch(s.names, name)
	return found
}

// ended takes in that a stream is no longer read.
func (r *realm) ended(s *stream, err error) {
	s.cancel = nil
	switch {
	case r.ctx.Err() != nil:
	case s.restart || err == nil:
		r.begin(s)
	default:
		r.failed = fmt.Errorf("election manager: watch the locks: %w", err)
		r.leave(machine.ReasonShutdown)
	}
}

// watched takes in one event of a stream; at is when it came out of the store.
func (r *realm) watched(s *stream, e lock.Event, at record.Instant) {
	s.heardAt = max(s.heardAt, at)
	s.reaches(max(e.Revision, e.Entry.Version.Revision))
	switch e.Kind {
	case lock.Changed:
		r.shown(s, e.Entry, machine.Stream)
	case lock.Listing:
		s.listSent, s.listing = at, true
	case lock.Listed:
		s.listing = false
		r.trouble.note("watch", "", nil)
		r.whole(s)
		r.listed(s, e)
		if s.late() && !s.restart && s.beginAt == 0 {
			s.beginAt = s.begunAt.Add(leastBetweenLists)
		}
	case lock.Resumed:
		r.trouble.note("watch", "", nil)
		r.whole(s)
	case lock.Broken:
		r.trouble.note("watch", "", e.Err)
		r.broken(s)
	case lock.Progressed:
	}
}

// isSession says whether an object of a stream is a session rather than a lock.
func (r *realm) isSession(s *stream, e lock.Entry) bool {
	return r.carriesSessions(s) && s.byLock[e.Name] == nil && r.dir.Shows(e.Name, e.Record)
}

// listed takes in all that there is; what is not among it is absent.
func (r *realm) listed(s *stream, e lock.Event) {
	now := r.cfg.Clock.Now()
	if r.carriesSessions(s) {
		r.listedSessions(now, s, e) // first: whose a record is may follow from them
		defer func() { s.view = nil }()
	}
	seen := make(map[string]bool, len(e.List))
	for _, entry := range e.List {
		if !r.isSession(s, entry) {
			seen[entry.Name] = true
			r.shown(s, entry, machine.List)
		}
	}
	for name := range s.byLock {
		if !seen[name] && s.shows(name) {
			r.shown(s, lock.Entry{Name: name, Version: record.Version{Revision: e.Revision}}, machine.List)
		}
	}
	for _, entry := range e.List {
		if r.isSession(s, entry) {
			seen[entry.Name] = true
			r.sawBeat(entry) // last: it is worth what was shown before it
		}
	}
	if r.carriesSessions(s) {
		maps.DeleteFunc(r.heard, func(name string, _ sign) bool { return !seen[name] })
	}
}

func (r *realm) listedSessions(now record.Instant, s *stream, e lock.Event) {
	var sessions []session.Shown
	for _, entry := range e.List {
		if r.isSession(s, entry) {
			sessions = append(sessions, session.Shown{Name: entry.Name, Record: entry.Record, Version: entry.Version})
		}
	}
	r.viewStale = true
	if !r.dir.List(now, s.listSent, e.Revision, sessions) {
		r.restored(now)
	}
	// The view is told with each lock: beside an older record of it, others that have moved
	// on meanwhile look as if they were gone.
	r.compare(now)
	s.view, r.viewNext = r.dir.View(now, r.identity)
	r.view, r.viewStale = s.view, false
	r.contests.each(func(c *contest) {
		if r.streamOf(c.lock.store) != s {
			r.handle(c, machine.DirectoryChanged{View: r.view})
		}
	})
}

// shown gives one object to whom it concerns.
func (r *realm) shown(s *stream, e lock.Entry, by machine.Source) {
	if r.isSession(s, e) {
		r.viewStale = true
		r.dir.Observe(r.cfg.Clock.Now(), e.Name, e.Record, e.Version)
		if by == machine.Stream {
			r.sawBeat(e)
		}
		return
	}
	if s.view == nil { // else the view is that of the list
		r.tendView(r.cfg.Clock.Now()) // whose the record is follows from the sessions shown before it
	}
	r.showsDisowned(lockName{s.store, e.Name}, e)
	c := s.byLock[e.Name]
	if c == nil {
		r.takenOver(s, e)
		c = r.stray(s, e)
	}
	if c != nil && c.mayHear(s, by) {
		e = c.known(e)
		r.handle(c, machine.Observed{Source: by, Record: e.Record, Version: e.Version, Sent: s.listSent, View: s.view, Jitter: jitter()})
	}
}

// mayHear says whether what the stream shows of the lock is as new as the contest.
func (c *contest) mayHear(s *stream, by machine.Source) bool {
	c.listed = c.listed || c.entrant.stray || by == machine.List && c.began <= s.listSent
	return c.listed
}

// known is what is shown, made of what the machine keeps already where that is the same: one
// copy is enough of what a reply told first.
func (c *contest) known(e lock.Entry) lock.Entry {
	l := &c.state.Lock
	if e.Record != nil && l.Record != nil && l.Record != e.Record && l.Version == e.Version && reflect.DeepEqual(l.Record, e.Record) {
		e.Record, e.Version = l.Record, l.Version
	}
	return e
}
