package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/members"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// eyes holds what the streams of locks and sessions have shown. It belongs to the goroutine that
// drives the rollout.
type eyes struct {
	Config
	elections []election.Spec
	streams   map[lock.Store]*stream
	members   *members.Directory
	// digest is the digest of the controller's preference at the last look. views says, for each member that lived then,
	// whether it published the same digest.
	digest string
	views  map[string]view
	// since is when we began to see the group without a gap; latest is when we last saw it.
	since, latest record.Instant
	// epoch is the time of instant zero by the wall clock, as the last look computed it.
	epoch time.Time
	// pulses are the latest beats, by session name.
	pulses map[string]pulse
}

// stream holds what the watch of one store has shown.
type stream struct {
	store lock.Store
	names []string
	known map[string]lock.Entry
	// since is when we first saw the present term of each lock.
	since map[string]firstSight
	// listed: we have had a list. whole: we have had one, and the stream is not broken.
	listed, whole bool
	// trouble is why the stream broke last; nil if it never did.
	trouble error
}

// pulse is the latest beat of a member, and when we first saw that beat.
type pulse struct {
	identity string
	beat     uint64
	at       record.Instant
	duration time.Duration
	// renewed is when the member wrote the beat, by its own wall clock.
	renewed time.Time
	// before lists when we saw earlier beats, latest first, back to the first that is a duration
	// older than the latest beat.
	before []record.Instant
}

// after returns p with the times of the beats before it, which earlier knows.
func (p pulse) after(earlier pulse) pulse {
	p.before = append([]record.Instant{earlier.at}, earlier.before...)
	if i := slices.IndexFunc(p.before, func(b record.Instant) bool { return p.at.Sub(b) >= p.duration }); i >= 0 {
		p.before = p.before[:i+1]
	}
	return p
}

// heard returns how long ago we saw each beat, latest first.
func (p pulse) heard(now record.Instant) []time.Duration {
	heard := []time.Duration{now.Sub(p.at)}
	for _, b := range p.before {
		heard = append(heard, now.Sub(b))
	}
	return heard
}

// view says whether a member publishes the controller's digest of the preference or another one, and since when.
type view struct {
	same  bool
	since record.Instant
}

// heard is an event of a stream, or the reason why the stream ended.
type heard struct {
	stream *stream
	event  lock.Event
	at     record.Instant
	ended  error
}

// firstSight is when we first saw a term.
type firstSight struct {
	holder string
	token  record.Token
	at     record.Instant
}

func newEyes(cfg Config, elections []election.Spec) *eyes {
	e := &eyes{Config: cfg, streams: map[lock.Store]*stream{}}
	e.streamOf(cfg.Sessions)
	for _, el := range elections {
		if el.Disabled {
			continue // every member works for a disabled election, so nothing moves it
		}
		el = complete(el, cfg)
		e.elections = append(e.elections, el)
		s := e.streamOf(el.Locks)
		s.names = append(s.names, el.Lock)
	}
	return e
}

func (e *eyes) streamOf(store lock.Store) *stream {
	s := e.streams[store]
	if s == nil {
		s = &stream{store: store, known: map[string]lock.Entry{}, since: map[string]firstSight{}}
		e.streams[store] = s
	}
	return s
}

// open begins to read all streams. The returned function close waits until its goroutines have ended.
func (e *eyes) open(ctx context.Context) (all <-chan heard, close func()) {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan heard, 256)
	var wg sync.WaitGroup
	for _, s := range e.streams {
		watch := s.store.Watch
		if by, ok := s.store.(lock.NameWatcher); ok && s.store != e.Sessions {
			watch = func(ctx context.Context, deliver func(lock.Event)) error { return by.WatchNames(ctx, s.names, deliver) }
		}
		say := func(h heard) {
			select {
			case out <- h:
			case <-ctx.Done():
			}
		}
		wg.Go(func() {
			err := watch(ctx, func(event lock.Event) { say(heard{stream: s, event: event, at: e.Clock.Now()}) })
			if ctx.Err() == nil {
				say(heard{ended: cmp.Or(err, errEnded)})
			}
		})
	}
	return out, func() { cancel(); wg.Wait() }
}

var errEnded = errors.New("a watch of locks ended by itself")

// take handles an event, and all events queued behind it.
func (e *eyes) take(h heard, more <-chan heard) error {
	for {
		if h.ended != nil {
			return h.ended
		}
		e.see(h.stream, h.event, h.at)
		select {
		case h = <-more:
		default:
			return nil
		}
	}
}

func (e *eyes) see(s *stream, event lock.Event, at record.Instant) {
	switch event.Kind {
	case lock.Listed:
		clear(s.known)
		for _, entry := range event.List {
			s.known[entry.Name] = entry
			s.date(entry, at)
		}
		s.listed, s.whole = true, true
		e.beginAnew(s, at)
	case lock.Resumed:
		if !s.whole && s.listed {
			s.whole = true
			e.beginAnew(s, at)
		}
	case lock.Changed:
		s.known[event.Entry.Name] = event.Entry
		s.date(event.Entry, at)
		if event.Entry.Absent() {
			delete(s.known, event.Entry.Name)
		}
		if s.store == e.Sessions {
			e.meet(event.Entry, at)
		}
	case lock.Broken:
		s.whole, s.trouble = false, event.Err
	}
}

// date records when we first saw the term in an entry.
func (s *stream) date(e lock.Entry, at record.Instant) {
	r := e.Record
	if r == nil || r.Holder == "" || r.Claim != nil {
		delete(s.since, e.Name)
	} else if f := s.since[e.Name]; f.holder != r.Holder || f.token != r.Token {
		s.since[e.Name] = firstSight{r.Holder, r.Token, at}
	}
}

// beginAnew counts the silence of every session from now on: silence during a break means nothing.
func (e *eyes) beginAnew(s *stream, at record.Instant) {
	if s.store != e.Sessions {
		return
	}
	e.members, e.pulses = members.New(e.Group, e.Timing), map[string]pulse{}
	for _, name := range slices.Sorted(maps.Keys(s.known)) {
		e.meet(s.known[name], at)
	}
}

// meet records what a session shows.
func (e *eyes) meet(entry lock.Entry, at record.Instant) {
	if e.members == nil || !e.members.Observe(at, entry) {
		return
	}
	r := entry.Record
	if r == nil || !r.Bound() {
		return
	}
	now := pulse{identity: r.Holder, beat: r.Mark.Beat, at: at, duration: r.Mark.Duration, renewed: r.Renewed}
	switch p := e.pulses[entry.Name]; {
	case p.identity != r.Holder:
		e.pulses[entry.Name] = now
	case p.beat != r.Mark.Beat:
		e.pulses[entry.Name] = now.after(p)
	}
}

// whole says whether every stream is whole.
func (e *eyes) whole() bool {
	for _, s := range e.streams {
		if !s.whole {
			return false
		}
	}
	return true
}

// missing says what the eyes do not see, for people.
func (e *eyes) missing() error {
	if s := e.streams[e.Sessions]; !s.whole {
		return fmt.Errorf("cannot see the sessions of the members: %w", cmp.Or(s.trouble, errNoList))
	}
	for _, el := range e.elections { // in the order of the configuration
		if s := e.streams[el.Locks]; !s.whole {
			return fmt.Errorf("cannot see the lock of election %s: %w (may this member list and watch it? what it logs of its watches says more)", el.Name, cmp.Or(s.trouble, errNoList))
		}
	}
	return errNoBeat
}

var (
	errNoList = errors.New("no list has come")
	errNoBeat = errors.New("cannot see the beats of this member's own session: its watch shows nothing, or the API server takes no beats")
)

// pulseOf returns the pulse of a living member.
func (e *eyes) pulseOf(identity string) (latest pulse, ok bool) {
	for _, p := range e.pulses {
		if p.identity == identity && p.at >= latest.at {
			latest, ok = p, true
		}
	}
	return latest, ok
}
