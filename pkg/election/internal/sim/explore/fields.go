package explore

import (
	"reflect"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// class says how a value enters the canonical form.
type class uint8

const (
	// plain: the value itself.
	plain class = iota
	// instant: relative to now, as far back as the horizon; of older instants only the order counts. Every
	// instant is of this class unless the table below knows more about it.
	instant
	// since: relative to now, as far back as reach, the most that is ever added to the instant; all older
	// instants count as one. For instants that are only compared with now, after an addition.
	since
	// until: relative to now while in the future, else the same as never. For instants that are only
	// compared with now.
	until
	// due: relative to now while in the future, else simply due; never is distinct.
	due
	// present: whether it is now.
	present
	// order: its rank among all tokens and revisions of the world.
	order
	// beat: its rank within its group: beats of one incarnation, uids or revisions of one session.
	beat
	// turn: its rank among all counts of transitions.
	turn
	// count: the value itself up to 6; from there on nothing doubles any more.
	count
	// leftOut: no decision depends on it.
	leftOut
)

// field is what the table says about a field.
type field struct {
	class class
	// reach is how many ticks back the class since looks.
	reach func(record.Timing) int
	// when says whether anything depends on the field in the given state; nil for always.
	when func(*machine.State) bool
	// as returns the class in the given state, if the class depends on the state.
	as func(*canon, *proc) class
	// sessions: the field matters only if sessions renew the lock.
	sessions bool
	// unless says that nothing depends on the given value in the given state.
	unless func(reflect.Value, *machine.State) bool
}

// fields is what we know of the fields of the machine's state beyond their types. Each line is a claim
// that the exploration tests: see Confirm.
var fields = map[string]field{
	"writes.last":            {class: beat},
	"State.Cycle":            {class: leftOut}, // told, never asked
	"State.View":             {class: leftOut}, // follows from the slots
	"State.alarmed":          {class: leftOut}, // keeps reports from repeating
	"State.preferredSince":   {class: leftOut}, // for locks shared with Istio
	"writes.first":           {class: leftOut}, // for claims
	"writes.silentSince":     {class: leftOut}, // for terms that fail open
	"State.sightless":        {sessions: true},
	"State.disowned":         {sessions: true},
	"Disowned.Beat":          {class: beat},
	"validity.owedSince":     {class: since, reach: lease, sessions: true},
	"Lock.beaten":            {sessions: true, unless: ofOtherBeat},
	"writes.retryAt":         {class: until},
	"validity.until":         {class: until, as: keptUntil},
	"validity.renewAt":       {class: until, when: holds},
	"standing.pausedUntil":   {class: until},
	"validity.rangeUntil":    {class: until}, // without ranges it is always never
	"standing.downUntil":     {class: until},
	"State.wake":             {class: due},
	"standing.failures":      {class: count},
	"succession.betterSince": {class: since, reach: func(t record.Timing) int { return ticks(t.PreemptDelay) }, when: leading},
	"State.Drain":            {when: func(s *machine.State) bool { return s.Role == machine.Draining }},
	"withdrawal.since":       {class: since, reach: lease},

	"Term.Started": {class: since, when: leading, reach: func(t record.Timing) int {
		return max(ticks(t.MinHold), 2*ticks(record.Doubled(t.StandDown, 5)))
	}},
	"Term.Deadline": {class: until, when: leading},

	"Lock.changedAt":   {class: since, when: owned, reach: func(t record.Timing) int { return ticks(t.ObserverWait(t.LeaseDuration) + 2*t.NominateDelay) }},
	"Lock.at":          {class: since, reach: lease, as: lastSight},
	"Lock.since":       {when: ownerless},
	"Lock.absentSince": {class: since, reach: func(t record.Timing) int { return ticks(t.ObserverWait(t.LeaseDuration) + 2*t.NominateDelay) }},
	"Lock.beatAt":      {class: leftOut}, // for locks that another stream shows than that of the sessions

	"write.asked":      {class: since, reach: lease},
	"write.beat":       {class: beat},
	"passedOver.until": {class: until},
	"passedOver.count": {class: count},

	"Record.Acquired":    {class: leftOut}, // for people
	"Record.Renewed":     {class: leftOut}, // for people, and for foreign electors
	"Record.History":     {class: leftOut}, // for people, except for which member leaves: see leaver
	"Record.Rest":        {class: leftOut}, // the store's own
	"Record.Member":      {class: leftOut}, // only on sessions
	"Record.Transitions": {class: turn},
	"Mark.Transitions":   {class: turn},
	"Claim.Transitions":  {class: turn},
	"Mark.Beat":          {class: beat},
	"Mark.Falls":         {class: leftOut}, // no death is proved there
}

func lease(t record.Timing) int { return ticks(t.LeaseDuration) }

func leading(s *machine.State) bool { return s.Role == machine.Leading }

func working(s *machine.State) bool { return s.Role == machine.Leading || s.Role == machine.Draining }

func holds(s *machine.State) bool {
	return working(s) || s.Lock.Owner == machine.Mine
}

func owned(s *machine.State) bool {
	return s.Lock.Owner == machine.Other && !s.Lock.Record.ThroughSession() || s.Lock.Owner == machine.Foreign
}

func ownerless(s *machine.State) bool {
	return s.Lock.Owner == machine.Free || s.Lock.Owner == machine.Unowned || s.Lock.Owner == machine.Orphaned
}

// horizon is how many ticks back an instant may lie and still be distinguished from older ones: more than
// is ever added to an instant. The last of three members in line waits for two turns. A member that sees
// nothing of its session for two leases gives the session up.
func horizon(t record.Timing, r record.Renewal) int {
	farthest := ticks(t.ObserverWait(t.LeaseDuration) + 2*t.NominateDelay)
	if r == record.RenewalSession {
		farthest = max(farthest, ticks(2*t.LeaseDuration))
	}
	return farthest + 1
}

// plan says how to walk the values of a struct.
type plan struct {
	index int
	field field
	kind  reflect.Kind
	reach int
}

// classify takes the class of a field from the table, or else derives it from the type.
func classify(owner reflect.Type, f reflect.StructField) field {
	known, listed := fields[owner.Name()+"."+f.Name]
	if listed && known.class != plain {
		return known
	}
	switch f.Type {
	case reflect.TypeFor[record.Instant]():
		known.class = instant
	case reflect.TypeFor[record.Token]():
		known.class = order
	case reflect.TypeFor[uint64]():
		if owner != reflect.TypeFor[record.Version]() {
			panic("explore: " + owner.Name() + "." + f.Name + " is a number of unknown class; see fields.go")
		}
		known.class = order
	}
	return known
}

// lastSight is the class of when the member last saw the lock. Machines compare that instant with the
// sending time of a read or list, whose outcome the canonical form holds, and with now while the stream is
// behind. What is sent from now on is later, unless the member saw the lock at this very instant.
func lastSight(_ *canon, m *proc) class {
	if m.streamed() != m.state().Lock.Version {
		return since
	}
	return present
}

// keptUntil: if sessions renew the lock, the value never means that the term was given up.
func keptUntil(c *canon, _ *proc) class {
	if c.sessions {
		return due
	}
	return until
}

// ofOtherBeat says whether the lock's record now has another beat than the given one.
func ofOtherBeat(v reflect.Value, s *machine.State) bool {
	if v.IsNil() || s.Lock.Record == nil || s.Lock.Record.Mark == nil {
		return true
	}
	mark := v.Elem().FieldByName("Mark")
	if mark.IsNil() {
		return true
	}
	of, now := inside(mark.Elem()), s.Lock.Record.Mark
	return of.text("Identity") != now.Identity || int(of.int("Transitions")) != now.Transitions || of.uint("Beat") != now.Beat
}
