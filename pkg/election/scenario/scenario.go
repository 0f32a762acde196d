package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// Scenario is what to play.
type Scenario struct {
	Group string
	// Timing is the timing of the sessions.
	Timing    record.Timing
	Elections []Election
	Members   []Member
	// Preferred is the revision that should lead at the start.
	Preferred record.Preferred
	// Events happen at times that count from when the group has settled.
	Events []Event
	// For is how long to play after the group has settled.
	For  time.Duration
	Seed uint64
	// StopTime is how long runners take to stop.
	StopTime time.Duration

	// liar is a member that reports too early that its work has stopped; for tests of the judge.
	liar string
}

// Election is one election that all members take part in.
type Election struct {
	Name string
	// Lock is the election's lock; without a name it has the election's name. MigrateFrom is the former lock;
	// nil if the election does not migrate.
	Lock        Lock
	MigrateFrom *Lock
	Timing      record.Timing
	Policy      priority.Policy
	Bootstrap   machine.Bootstrap
	Renewal     record.Renewal
	Range       bool
	Outage      machine.Outage
	Foreign     machine.Foreigners
	// Only is the revision whose members take part; empty for all members.
	Only string
	// Runners says whether there is work to stop when a term ends.
	Runners Runners
}

// Lock is one lock. Store names the store that keeps the lock; empty means the store of the sessions. In any
// other store members watch the lock by its name.
type Lock struct{ Store, Name string }

// Runners says whether an election has runners.
type Runners int

const (
	// WithRunners: there is work to stop, which takes StopTime.
	WithRunners Runners = iota + 1
	// WithoutRunners: leadership itself is the product, and there is nothing to stop.
	WithoutRunners
)

// Member is one member of the group.
type Member struct {
	Name     string
	Revision string
	Location record.Location
	Weight   int
}

// Event is something that happens to the group.
type Event struct {
	Kind EventKind
	At   time.Duration
	// Member is the member that Kill kills: a name, or Leader.
	Member string
	// For is how long the API is away.
	For time.Duration
	// Revision is the revision that Default makes the preferred one.
	Revision string
}

// EventKind says what happens.
type EventKind int

const (
	// Kill ends a member's process, with its work, for good.
	Kill EventKind = iota + 1
	// APIAway keeps all members from the API for a while.
	APIAway
	// Default makes another revision the preferred one.
	Default
)

// Leader means the member that leads most elections when the event happens; among equals, the first in the
// list of members.
const Leader = "leader"

// String is the event as the command line writes it.
func (e Event) String() string {
	switch e.Kind {
	case Kill:
		return "--kill " + e.Member
	case APIAway:
		return fmt.Sprintf("--api-away %v", e.For)
	case Default:
		return "--default " + e.Revision
	}
	return fmt.Sprintf("EventKind(%d)", int(e.Kind))
}

// end is when the event is over.
func (e Event) end() time.Duration {
	if e.Kind == APIAway {
		return e.At + e.For
	}
	return e.At
}

// MostMembers is the most members of a scenario, and mostFor the longest time.
const (
	MostMembers = 100
	mostFor     = 24 * time.Hour
)

// check says, for people, why a scenario cannot be played.
func (s *Scenario) check() error {
	switch {
	case len(s.Elections) == 0:
		return errors.New("the configuration has no elections, so nothing can be led (add one under elections)")
	case len(s.Members) == 0 || len(s.Members) > MostMembers:
		return fmt.Errorf("%d members (from 1 to %d can be simulated)", len(s.Members), MostMembers)
	case s.For <= 0 || s.For > mostFor:
		return fmt.Errorf("--for %v (it must be more than 0 and at most %v)", s.For, mostFor)
	case s.StopTime < 0:
		return fmt.Errorf("--stop-time %v (it must not be negative)", s.StopTime)
	}
	var errs []error
	for i, e := range s.Events {
		if err := s.checkEvent(e, s.Events[:i]); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (s *Scenario) checkEvent(e Event, before []Event) error {
	switch {
	case e.At < 0:
		return fmt.Errorf("%v --at %v: before the beginning (0s is when the group has settled)", e, e.At)
	case e.At >= s.For:
		return fmt.Errorf("%v --at %v: the play ends at %v (give it an earlier --at, or a longer --for)", e, e.At, s.For)
	}
	switch e.Kind {
	case Kill:
		if e.Member != Leader && !slices.ContainsFunc(s.Members, func(m Member) bool { return m.Name == e.Member }) {
			return fmt.Errorf("%v: there is no such member (the members are %s; %s means the member that leads most elections)", e, strings.Join(s.memberNames(), ", "), Leader)
		}
		if e.Member != Leader && slices.ContainsFunc(before, func(o Event) bool { return o.Kind == Kill && o.Member == e.Member }) {
			return fmt.Errorf("%v: it is killed already, and does not come back (name another member)", e)
		}
		kills := 1
		for _, o := range before {
			if o.Kind == Kill {
				kills++
			}
		}
		if kills > len(s.Members) {
			return fmt.Errorf("%v: there are only %d members to kill (give more --members)", e, len(s.Members))
		}
	case APIAway:
		if e.For <= 0 {
			return fmt.Errorf("%v: it must be longer than 0", e)
		}
		for _, o := range before {
			if o.Kind == APIAway && e.At < o.end() && o.At < e.end() {
				return fmt.Errorf("%v --at %v: the API is away already, from %v to %v (make it one longer --api-away)", e, e.At, o.At, o.end())
			}
		}
	case Default:
		if e.Revision == "" {
			return errors.New("--default: no revision (name the revision that becomes the default)")
		}
	default:
		return fmt.Errorf("unknown event %v", e)
	}
	return nil
}

func (s *Scenario) memberNames() []string {
	names := make([]string, len(s.Members))
	for i, m := range s.Members {
		names[i] = m.Name
	}
	return names
}
