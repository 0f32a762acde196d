package member

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// stream is the watch of one store: of the realm's own store, which holds the sessions too, or of the store
// of another kind of lock.
type stream struct {
	store Store
	// names are the objects that we watch; nil for all.
	names []string
	// byLock are the contests whose locks are in the store.
	byLock map[string]*contest
	// watch is the number of the current watch; zero for none.
	watch uint64
	// listSent is when the latest list was requested, and listAfter is the newest revision that we, or
	// an earlier incarnation, knew then.
	listSent  record.Instant
	listAfter uint64
	// view is what we pass to the machines with each lock of the list that we are handling; nil at other
	// times.
	view *machine.View
	// restart: we ended the watch to begin it anew, with a list.
	restart bool
	// relisting: we asked for a list while the watch goes on. unlisted: the last list failed.
	relisting, unlisted bool
	// trial are the names of the last such list, if we watch by name, and trials counts these lists.
	trial  []string
	trials uint64
	// passed: the trial passed, and the watch that begins next is of its names.
	passed bool
	// listing: the watch's own list has not come yet. begunAt is when we began the watch, or last asked for a list beside it,
	// and beginAt is when to do either again; zero for never.
	listing          bool
	begunAt, beginAt record.Instant
	// heardAt is when the watch last showed anything.
	heardAt record.Instant
	// listPatience is how long to wait for a list, set once we gave up on one; else zero.
	listPatience time.Duration
	// cut: the watch broke, and has not shown anything since. denied are the names that the store denies the watch, in order.
	cut    bool
	denied []string
	// absences says which locks the stream has shown absent all the time.
	absences absences
	// newest is the newest revision of the store that this member saw, in the stream or in an answer.
	newest uint64
}

// reaches notes that the store has reached the revision.
func (s *stream) reaches(revision uint64) { s.newest = max(s.newest, revision) }

// streamOf is the stream of the store; it may not have begun yet.
func (m *Member) streamOf(store Store) *stream {
	for _, s := range m.streams {
		if s.store == store {
			return s
		}
	}
	s := &stream{store: store, byLock: map[string]*contest{}}
	m.streams = append(m.streams, s)
	m.knows(store)
	return s
}

// watchOf is the stream of a watch; nil if it is over.
func (m *Member) watchOf(watch uint64) *stream {
	for _, s := range m.streams {
		if s.watch == watch {
			return s
		}
	}
	return nil
}

// carriesSessions says whether the stream is that of the realm's own store.
func (m *Member) carriesSessions(s *stream) bool { return s.store == Own }

// isWholeApart says whether the stream is that of a whole store without sessions. While such a stream is broken it would show a list that
// is made beside it only once it is open again. So it is begun anew, unless it goes on within leastBetweenLists.
func (m *Member) isWholeApart(s *stream) bool { return !s.store.ByName && !m.carriesSessions(s) }

// begin begins the stream's watch. If there is one already, begin only ends it; ended then begins the new
// one, which lists everything.
func (m *Member) begin(s *stream) {
	s.heardAt, s.beginAt = m.now, 0
	if s.watch != 0 {
		if !s.restart {
			s.restart = true
			m.out.add(EndWatch{s.watch})
		}
		return
	}
	m.watches++
	s.watch, s.restart, s.relisting = m.watches, false, false
	s.listing, s.begunAt = true, s.heardAt
	if s.store.ByName {
		if s.names, s.passed = s.passing(), false; len(s.names) == 0 { // no list has to come
			s.unlisted = false
			m.trouble.forget(lockName{store: s.store})
		}
	}
	m.out.add(Watch{Watch: s.watch, Store: s.store, Names: slices.Clone(s.names)})
}

// refresh has a stream list everything again because we want to see more than it shows, and not because it fails. If lists do
// not pass just now, or take long, a watch begun anew would leave us blind: the sessions' watch shows our own beats, by which
// terms go on, and each watch shows which locks are free. So the watch goes on until a list has come. The watch of a whole store
// then shows that list. A watch of names cannot have others, so then we begin it anew: lists pass.
func (m *Member) refresh(s *stream) {
	switch {
	case s.watch == 0,
		s.store.ByName && (s.listing && !s.relisting || len(s.byLock) == 0), // a watch of no names shows no list
		s.cut && m.isWholeApart(s):
		m.begin(s)
		return
	}
	if s.beginAt = 0; !s.relisting && !s.restart && !s.listing { // after a list under way, late asks for another
		s.relisting, s.begunAt = true, m.now
		if s.store.ByName {
			s.trial, s.trials = s.wanted(), s.trials+1
		}
		m.out.add(Relist{s.watch, slices.Clone(s.trial), s.trials})
	}
}

// listFailed handles the failure of a list that refresh asked for.
func (m *Member) listFailed(s *stream, err error) {
	m.noList(s)
	m.trouble.noteList(s.store, err)
	if s.store.ByName && m.leaving == "" && !slices.Equal(s.trial, s.wanted()) { // it may fail because of a name that we no longer need
		s.relisting, s.beginAt = false, s.begunAt.Add(leastBetweenLists)
	}
}

// awaitsList says whether the watch's own list is under way. A watch of no names never shows one.
func (s *stream) awaitsList() bool {
	return s.watch != 0 && s.listing && (s.names == nil || len(s.names) > 0)
}

// leastBetweenLists is the least time between two lists for new elections. A list may have many thousand
// objects, so elections that are added meanwhile share one.
const leastBetweenLists = time.Second

// include makes sure that a list will show the locks of elections that were just added.
func (m *Member) include(s *stream) {
	at := s.begunAt.Add(leastBetweenLists)
	switch {
	case s.awaitsList():
		// The current list comes first: if each new election cut it short, steady additions would leave us without any
		// list. It does not show these elections, so watched asks for another.
	case s.watch != 0 && s.cut && m.isWholeApart(s):
		if s.beginAt == 0 { // additions do not put it off
			s.beginAt = m.now.Add(leastBetweenLists)
		}
	case s.watch == 0 || m.now >= at:
		m.refresh(s)
	default:
		s.beginAt = at
	}
}

// tendStreams has streams list everything again at their beginAt, and begins the realm's own anew when it has gone silent.
func (m *Member) tendStreams() {
	m.tendStream()
	for _, s := range m.streams {
		switch {
		case s.beginAt == 0:
		case m.now >= s.beginAt:
			m.refresh(s)
		case m.streamNext == 0 || s.beginAt < m.streamNext:
			m.streamNext = s.beginAt
		}
	}
}

// tendStream begins the realm's own stream anew when it has gone silent: it should show at least our own
// beats, so a silent one leaves us blind.
func (m *Member) tendStream() {
	s := m.streamOf(Own)
	silent := s.heardAt.Add(m.patience(s))
	if m.now < silent {
		m.streamNext = silent
		return
	}
	if s.listing && (!m.own.Joined() || m.heardOf > s.begunAt) {
		s.listPatience = 2 * m.patience(s) // the list is slow; otherwise the store is away, and may have lost the request
	}
	if !m.hushed {
		m.hushed = true
		m.log.Warn(Silent)
	}
	m.broken(s) // holders that we do not hear may live as we do
	m.begin(s)
	m.streamNext = s.heardAt.Add(m.patience(s))
}

// noList notes that a list of a stream failed.
func (m *Member) noList(s *stream) {
	if !s.unlisted {
		s.unlisted = true
		m.ticksMoving()
	}
}

// listBroken handles a break of a stream that lists, or beside which a list is made.
func (m *Member) listBroken(s *stream) {
	switch {
	case s.listing:
		m.noList(s)
	case s.relisting && m.isWholeApart(s):
		s.relisting, s.beginAt = false, m.now.Add(leastBetweenLists)
	}
}

// relisted notes that a stream shows lists again.
func (m *Member) relisted(s *stream) {
	if s.unlisted {
		s.unlisted = false
		m.ticksMoving()
	}
}

// catchUp begins a stream anew, if by name once a list passes, that is behind what we know of a lock: it may be silent, and shows no beats of ours by which
// tendStream would notice that. A stream that is known to be broken begins anew by itself.
func (m *Member) catchUp(s *stream, name string) {
	if s.denies(name) {
		return // the watch asks for it again
	}
	switch {
	case m.carriesSessions(s) || s.watch == 0 || s.listing || s.cut:
	case s.store.ByName:
		m.refresh(s) // it may only lag, and while lists fail that is better than nothing
	default:
		m.begin(s)
	}
}

// mostListPatience bounds how long to wait for a list; a store gives up on one by then.
const mostListPatience = 30 * time.Second

// patience is how long the realm's own stream may be silent. A list may need long: after each that we
// cut for silence, the next one gets twice the time.
func (m *Member) patience(s *stream) time.Duration {
	lease := m.cfg.Timing.LeaseDuration
	if !s.listing {
		return lease
	}
	return max(lease, min(s.listPatience, mostListPatience))
}

// excuse resets the silence of the realm's stream after the store refused a beat: the stream has no beat to
// show then.
func (m *Member) excuse() {
	s := m.streamOf(Own)
	s.heardAt = max(s.heardAt, m.now)
}

// shows says whether the stream watches the named object. It does not if the election was added after the
// watch began: then the object's absence from a list means nothing.
func (s *stream) shows(name string) bool {
	if s.names == nil {
		return true
	}
	_, found := slices.BinarySearch(s.names, name)
	return found
}

// denies says whether the store denies the watch this name, so that the watch says nothing of it.
func (s *stream) denies(name string) bool {
	_, found := slices.BinarySearch(s.denied, name)
	return found
}

// ended handles the end of a stream's watch.
func (m *Member) ended(s *stream, err error) {
	s.watch = 0
	switch {
	case s.restart || err == nil:
		m.begin(s)
	default:
		m.failed = fmt.Errorf("watch the locks: %w", err)
		m.leave(machine.ReasonShutdown)
	}
}

// watched handles one event of a stream; at is when it came out of the store.
func (m *Member) watched(s *stream, e lock.Event, at record.Instant) {
	if e.Kind != lock.Listed || s.listing { // a list made beside the watch is no sign that the watch lives
		s.heardAt = max(s.heardAt, at)
	}
	s.reaches(max(e.Revision, e.Entry.Version.Revision))
	switch e.Kind {
	case lock.Changed:
		if m.hushed && m.carriesSessions(s) {
			m.hushed = false
			m.log.Info("the watch shows changes again")
		}
		m.shown(s, e.Entry, machine.Stream)
	case lock.Listing:
		s.listing = true
		m.listSent(s, at)
	case lock.Listed:
		s.listing, s.relisting = false, false
		defer m.relisted(s)
		s.cut, s.denied = s.cut || len(e.Denied)+len(s.denied) > 0, e.Denied // what was denied is shown now, or denied still
		m.trouble.noteWatch(s.store, e.Err)
		m.trouble.noteList(s.store, nil)
		m.whole(s)
		s.absences.listed(m.now, e.Revision)
		if e.Revision < s.listAfter { // contests that were added since do not notice
			m.restored()
		}
		m.listed(s, e)
		if s.late() && !s.restart && s.beginAt == 0 {
			s.beginAt = s.begunAt.Add(leastBetweenLists)
		}
	case lock.Resumed:
		if len(s.denied) == 0 {
			m.trouble.noteWatch(s.store, nil)
		}
		m.whole(s)
	case lock.Broken:
		if !errors.Is(e.Err, lock.ErrEnded) {
			m.trouble.noteWatch(s.store, e.Err)
		}
		m.broken(s)
		m.listBroken(s)
		m.restartForNames(s)
	case lock.Progressed:
	}
}

// listSent notes that a list is about to be requested.
func (m *Member) listSent(s *stream, at record.Instant) {
	s.listSent, s.listAfter = at, m.newestOf(s.store)
}

// restartForNames has a watch begin anew that is broken if we want other names by now. It may be broken because of a name that we
// no longer need.
func (m *Member) restartForNames(s *stream) {
	if s.names != nil && m.leaving == "" && !s.restart && s.beginAt == 0 && !slices.Equal(s.names, s.wanted()) {
		s.beginAt = s.begunAt.Add(leastBetweenLists)
	}
}

// isSession says whether an object of a stream is a session rather than a lock.
func (m *Member) isSession(s *stream, e lock.Entry) bool {
	return m.carriesSessions(s) && s.byLock[e.Name] == nil && m.dir.Shows(e.Name, e.Record)
}

// listed handles a list of all objects. A lock that is not in it is absent.
func (m *Member) listed(s *stream, e lock.Event) {
	if m.carriesSessions(s) {
		m.listedSessions(s, e) // first: a lock's owner may follow from the sessions
		defer func() { s.view = nil }()
	}
	seen := make(map[string]bool, len(e.List))
	for _, entry := range e.List {
		if !m.isSession(s, entry) {
			seen[entry.Name] = true
			m.shown(s, entry, machine.List)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.byLock)) {
		if !seen[name] && s.shows(name) && !s.denies(name) {
			m.shown(s, lock.Entry{Name: name, Version: record.Version{Revision: e.Revision}}, machine.List)
		}
	}
	for _, entry := range e.List {
		if m.isSession(s, entry) {
			seen[entry.Name] = true
			m.sawBeat(entry) // last: a beat counts only after all that the stream showed before it
		}
	}
	if m.carriesSessions(s) {
		for _, name := range slices.Sorted(maps.Keys(m.heard)) {
			if !seen[name] {
				m.unheard(name)
			}
		}
	}
}

func (m *Member) listedSessions(s *stream, e lock.Event) {
	var sessions []session.Shown
	for _, entry := range e.List {
		if m.isSession(s, entry) {
			sessions = append(sessions, session.Shown{Name: entry.Name, Record: entry.Record, Version: entry.Version})
		}
	}
	m.viewStale = true
	if !m.dir.List(m.now, s.listSent, e.Revision, sessions) {
		m.restored()
	}
	// The machines of these locks get the new view only together with their lock: if a machine still had an
	// older record, a holder that has moved on since would look as if it were gone.
	m.tendEnds()
	m.compare()
	s.view, m.viewNext = m.dir.View(m.now, m.identity)
	m.view, m.viewStale = s.view, false
	m.contests.each(func(c *contest) {
		if m.streamOf(c.lock.store) != s {
			m.handle(c, machine.DirectoryChanged{View: m.view})
		}
	})
}

// shown passes one object on to the directory, or to the contest for the lock.
func (m *Member) shown(s *stream, e lock.Entry, by machine.Source) {
	m.notesAbsence(s, e)
	if m.isSession(s, e) {
		m.viewStale = true
		m.dir.Observe(m.now, e.Name, e.Record, e.Version)
		if by == machine.Stream {
			m.sawBeat(e)
		}
		return
	}
	if s.view == nil { // else the list's view counts
		m.tendView() // the record's owner follows from the sessions shown before it
	}
	m.showsDisowned(lockName{s.store, e.Name}, e)
	c := s.byLock[e.Name]
	if c == nil {
		m.takenOver(s, e)
		m.showsGivenUp(lockName{s.store, e.Name}, e, by)
		c = m.stray(s, e)
	}
	switch {
	case c == nil:
	case !c.mayHear(s, by):
		c.state.ShownEarly(e.Record, e.Version, by)
		if m.keepsThroughSession(e.Record) && m.mayYetTake(c.lock) && !m.isDisowned(c.lock, e) {
			m.tookLate(s)
		}
	default:
		e = c.known(e)
		m.handle(c, machine.Observed{
			Source: by, Record: e.Record, Version: e.Version, Sent: s.listSent, View: s.view,
			Altered: m.altered(c, e), Jitter: m.jitter(),
		})
	}
}

// tookLate handles a late take of ours that keeps a lock, and that only a list lets us release. So we begin the sessions' watch anew: if
// lists fail, our beats do not come back, and we give the session up. Another watch by name has a list under way, or asks for one.
func (m *Member) tookLate(s *stream) {
	if s.store.ByName {
		m.refresh(s)
		return
	}
	m.begin(s)
}

// mayHear says whether what the stream shows of the lock is no older than the contest.
func (c *contest) mayHear(s *stream, by machine.Source) bool {
	c.listed = c.listed || c.stray || by == machine.List && c.began <= s.listSent
	return c.listed
}

// known returns the entry, with the machine's own copy of the record if it has an equal one. So we keep one
// copy of a record that both an answer and the stream showed.
func (c *contest) known(e lock.Entry) lock.Entry {
	l := &c.state.Lock
	if e.Record != nil && l.Record != nil && l.Record != e.Record && l.Version == e.Version && reflect.DeepEqual(l.Record, e.Record) {
		e.Record, e.Version = l.Record, l.Version
	}
	return e
}
