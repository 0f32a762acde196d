package election

import (
	"context"
	"sync"
	"time"

	"go.uber.org/atomic"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Status is what this member knows of one election, as of now. It outlives terms and
// incarnations. Its methods may be called from any goroutine.
type Status struct {
	name    string
	clock   clock.Clock
	valid   atomic.Pointer[ValidTerm]     // of the present term; nil while there is none
	validMu sync.Mutex                    // held to store into valid
	health  atomic.Pointer[member.Health] // of the present term; nil while there is none
	rng     atomic.Pointer[member.Range]  // of the present term, in elections with ranges
	cycle   atomic.Int64
	token   atomic.Uint64

	// problem is why the runner could not work in a term; nil if it never said.
	problem atomic.Pointer[error]
	// feed has the transitions of all elections of the Manager; nil without one.
	feed *feed
	// receivers are those of Watch.
	receivers receivers[Transition]

	mu       sync.Mutex
	leader   Leader
	ledSince time.Time
	role     Role
	reason   Reason
	hasSince time.Time // the role
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
}

func newStatus(name string, c clock.Clock) *Status {
	now := c.Wall()
	return &Status{name: name, clock: c, role: Following, hasSince: now, ledSince: now}
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
	return s.leader
}

// LeaderSince is when this member last saw Leader change, or began to look, by the wall clock.
func (s *Status) LeaderSince() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledSince
}

// Role is this member's role, why it has it, and since when, by the wall clock. Before the first transition
// there is no reason.
func (s *Status) Role() (role Role, why Reason, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.role, s.reason, s.hasSince
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
	return s.clock.Now().Sub(h.Renewed), true
}

// InJeopardy says whether this member leads, but its renewals fail and half of the outage
// that a term survives has passed.
func (s *Status) InJeopardy() bool {
	h, ok := s.renewals()
	return ok && s.IsLeader() && s.clock.Now() >= h.Jeopardy
}

// FailingOpen says whether this member leads only because of `outage: failopen`: its renewals
// have failed for so long that otherwise its work would have to stop by now.
func (s *Status) FailingOpen() bool {
	h, ok := s.renewals()
	return ok && h.Open != 0 && s.IsLeader() && s.clock.Now() >= h.Open
}

// watchBuffer is how many transitions a watcher may lag behind.
const watchBuffer = 16

// Watch returns a channel of transitions from now on. A receiver that lags loses the
// oldest, never the newest. The channel is closed when ctx ends, when the election was
// removed, and when the Manager's Run has returned.
func (s *Status) Watch(ctx context.Context) <-chan Transition {
	return s.receivers.add(ctx, watchBuffer)
}

func (s *Status) publish(t Transition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Leader = s.leader
	if s.feed != nil {
		s.feed.publish(s.name, t)
	}
	s.receivers.send(t)
}

func (s *Status) see(l Leader) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = s.leader != l
	if changed {
		s.leader, s.ledSince = l, s.clock.Wall()
	}
	return changed
}

func (s *Status) become(role Role, why Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.role, s.reason, s.hasSince = role, why, s.clock.Wall()
}

func (s *Status) close() { s.receivers.close() }
