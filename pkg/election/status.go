package election

import (
	"context"
	"sync"
	"time"
	"unique"

	"go.uber.org/atomic"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Status is what this member knows of one election, as of now. It outlives terms and
// incarnations. Its methods may be called from any goroutine. There may be ten thousand, so it is small.
type Status struct {
	name    string
	shared  *shared
	valid   atomic.Pointer[ValidTerm]     // of the present term; nil while there is none
	validMu sync.Mutex                    // held to store into valid
	health  atomic.Pointer[member.Health] // of the present term; nil while there is none
	rng     atomic.Pointer[member.Range]  // of the present term, in elections with ranges
	cycle   atomic.Int64
	token   atomic.Uint64

	// problem is why the runner could not work in a term; nil if the runner has no Readiness.
	problem atomic.Pointer[error]

	mu sync.Mutex
	// receivers are those of Watch; nil until the first.
	receivers *receivers[Transition]
	// led leads by the token ledBy, since ledAt.
	led   unique.Handle[holder]
	ledBy record.Token
	ledAt int64 // in nanoseconds since 1970, as all times here
	// role is what this member has had since roleAt, for the reason why.
	role   Role
	why    unique.Handle[Reason]
	roleAt int64
}

// shared is what all elections of a Manager share.
type shared struct {
	clock clock.Clock
	// feed has the transitions of all elections.
	feed feed
}

func newShared(c clock.Clock) *shared { return &shared{clock: c, feed: feed{tally: newTally()}} }

// holder is a Leader without its token: few members lead many elections.
type holder struct {
	identity, revision string
	location           record.Location
}

// Leader is who holds an election's lock, as this member last saw it.
type Leader struct {
	// Identity is empty while nobody is known to hold the lock.
	Identity string
	Revision string
	Location record.Location
	Token    record.Token
}

// Transition is a change of an election's leadership, as this member saw it.
type Transition struct {
	// At is the wall-clock time, for people.
	At time.Time
	// Event is what happened.
	Event Event
	// Role is this member's role from here on.
	Role   Role
	Reason Reason
	// Token and Cycle are those of this member's present or last term.
	Token  record.Token
	Cycle  int
	Leader Leader
	// Leaderless is how long nobody led before, as far as this member saw it; see Figures. Only the transition that
	// makes this member lead has it.
	Leaderless time.Duration
}

func newStatus(name string, all *shared) *Status {
	now := all.clock.Wall().UnixNano()
	return &Status{name: name, shared: all, role: Following, roleAt: now, why: unique.Make(Reason("")), led: unique.Make(holder{}), ledAt: now}
}

// Election is the election's name.
func (s *Status) Election() string { return s.name }

// IsLeader says whether this member leads: a term is on, has not begun to stop, and is
// valid at this moment.
func (s *Status) IsLeader() bool { return s.ValidTerm() != nil }

// Cycle counts the terms that this member has begun in this election.
func (s *Status) Cycle() int { return int(s.cycle.Load()) }

// Token is the token of this member's present or last term; zero before the first.
func (s *Status) Token() record.Token { return record.Token(s.token.Load()) }

// Leader is who holds the lock, as far as this member knows.
func (s *Status) Leader() Leader {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaderLocked()
}

func (s *Status) leaderLocked() Leader {
	h := s.led.Value()
	return Leader{Identity: h.identity, Revision: h.revision, Location: h.location, Token: s.ledBy}
}

// LeaderSince is when this member last saw Leader change, or began to look, by the wall clock.
func (s *Status) LeaderSince() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Unix(0, s.ledAt)
}

// Role is this member's role, why it has it, and since when, by the wall clock. Before the first transition
// there is no reason.
func (s *Status) Role() (role Role, why Reason, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.role, s.why.Value(), time.Unix(0, s.roleAt)
}

// Unready is why the runner could not work in a term, by its last report; nil if it could, and for runners
// without Readiness.
func (s *Status) Unready() error {
	if p := s.problem.Load(); p != nil {
		return *p
	}
	return nil
}

// renewals returns the health of the present term's renewals; ok is false while there is no term.
func (s *Status) renewals() (h member.Health, ok bool) {
	if v := s.valid.Load(); v != nil && v.reach != nil {
		sent := v.reach.last.Load().Sent
		return member.Health{Renewed: sent, Jeopardy: sent.Add(v.jeopardy)}, true
	}
	if own := s.health.Load(); own != nil {
		return *own, true
	}
	return h, false
}

// SinceRenewal is how long ago the last committed renewal of the present term was sent; ok
// is false while this member does not lead.
func (s *Status) SinceRenewal() (since time.Duration, ok bool) {
	h, ok := s.renewals()
	if !ok || !s.IsLeader() {
		return 0, false
	}
	return s.shared.clock.Now().Sub(h.Renewed), true
}

// UntilDeadline is how long the present term may last without another renewal; ok is false while this member does not
// lead.
func (s *Status) UntilDeadline() (left time.Duration, ok bool) {
	v := s.ValidTerm()
	if v == nil {
		return 0, false
	}
	return max(0, v.Deadline.Sub(s.shared.clock.Now())), true
}

// InJeopardy says whether this member leads, but its renewals fail and half of the outage
// that a term survives has passed.
func (s *Status) InJeopardy() bool {
	h, ok := s.renewals()
	return ok && s.IsLeader() && s.shared.clock.Now() >= h.Jeopardy
}

// FailingOpen says whether this member leads only because of `outage: failopen`: its renewals
// have failed for so long that otherwise its work would have to stop by now.
func (s *Status) FailingOpen() bool {
	h, ok := s.renewals()
	return ok && h.Open != 0 && s.IsLeader() && s.shared.clock.Now() >= h.Open
}

// watchBuffer is how many transitions a watcher may lag behind.
const watchBuffer = 16

// Watch returns a channel of transitions from now on. A receiver that lags loses the
// oldest, never the newest. The channel is closed when ctx ends, when the election was
// removed, and when the Manager's Run has returned.
func (s *Status) Watch(ctx context.Context) <-chan Transition {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.receivers == nil {
		s.receivers = &receivers[Transition]{}
	}
	return s.receivers.add(ctx, watchBuffer)
}

func (s *Status) publish(t Transition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Leader = s.leaderLocked()
	s.shared.feed.publish(s.name, t)
	if s.receivers != nil {
		s.receivers.send(t)
	}
}

func (s *Status) see(l Leader) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = s.leaderLocked() != l
	if changed {
		s.led, s.ledBy = unique.Make(holder{l.Identity, l.Revision, l.Location}), l.Token
		s.ledAt = s.shared.clock.Wall().UnixNano()
	}
	return changed
}

func (s *Status) become(role Role, why Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.role, s.why, s.roleAt = role, unique.Make(why), s.shared.clock.Wall().UnixNano()
}

// close closes the channels of Watch, and those that it returns from now on.
func (s *Status) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.receivers == nil {
		s.receivers = &receivers[Transition]{}
	}
	s.receivers.close()
}
