package explore

import (
	"reflect"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// class says how a value enters the canonical form.
type class uint8

const (
	// plain: as it is.
	plain class = iota
	// instant: from now, as far back as the horizon; older ones by their order alone. This
	// is what an instant is unless the table below knows more about it.
	instant
	// since: from now, as far back as the reach of what is ever added to it; older ones are
	// all alike. For what is only ever compared with now, after an addition.
	since
	// until: from now while it is to come, else all alike, and like never. For what is only
	// ever compared with now.
	until
	// due: from now while it is to come, else due; and never is another thing.
	due
	// present: whether it is now.
	present
	// order: by its place among all tokens and revisions of the world.
	order
	// beat: by its place among all of its group: beats of one incarnation, uids or revisions of one
	// session.
	beat
	// turn: by its place among all counts of transitions.
	turn
	// count: as it is up to 6, from where on nothing doubles any more.
	count
	// leftOut: no decision depends on it.
	leftOut
)

// field is what the table knows of a field.
type field struct {
	class class
	// reach is for since.
	reach func(record.Timing) int
	// when says whether anything depends on it in that state; nil for always.
	when func(*machine.State) bool
	// as is its class in that state, where it depends on it.
	as func(*canon, *proc) class
	// sessions: only where they renew the lock; else nothing depends on it.
	sessions bool
	// unless says that nothing depends on this value in that state.
	unless func(reflect.Value, *machine.State) bool
}

// fields is what is known of the fields of the machine's state beyond their types. Each
// line is a claim that the exploration puts to the test: see Confirm.
var fields = map[string]field{
	"writes.last":            {class: beat},
	"State.Cycle":            {class: leftOut}, // told, never asked
	"State.View":             {class: leftOut}, // follows from the slots
	"State.alarmed":          {class: leftOut}, // keeps reports from repeating
	"State.preferredSince":   {class: leftOut}, // for locks shared with Istio
	"writes.first":           {class: leftOut}, // for claims
	"State.sightless":        {sessions: true},
	"State.disowned":         {sessions: true},
	"Disowned.Beat":          {class: beat},
	"validity.owedSince":     {class: since, reach: lease, sessions: true},
	"Lock.beaten":            {sessions: true, unless: ofOtherBeat},
	"writes.retryAt":         {class: until},
	"validity.until":         {class: until, as: keptUntil},
	"validity.renewAt":       {class: until, when: holds},
	"standing.pausedUntil":   {class: until},
	"validity.rangeUntil":    {class: until}, // without ranges, never
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

	"Lock.changedAt": {class: since, when: owned, reach: func(t record.Timing) int { return ticks(t.ObserverWait(t.LeaseDuration) + 2*t.NominateDelay) }},
	"Lock.at":        {class: since, reach: lease, as: lastSight},
	"Lock.since":     {when: ownerless},
	"Lock.beatAt":    {class: leftOut}, // for locks that another stream shows than the sessions

	"write.asked":      {class: since, reach: lease},
	"write.beat":       {class: beat},
	"passedOver.until": {class: until},
	"passedOver.count": {class: count},

	"Record.Acquired":    {class: leftOut}, // for people
	"Record.Renewed":     {class: leftOut}, // for people, and for foreign electors
	"Record.History":     {class: leftOut}, // for people, but for who leaves: see leaver
	"Record.Rest":        {class: leftOut}, // the store's own
	"Record.Member":      {class: leftOut}, // only on sessions
	"Record.Transitions": {class: turn},
	"Mark.Transitions":   {class: turn},
	"Claim.Transitions":  {class: turn},
	"Mark.Beat":          {class: beat},
}

func lease(t record.Timing) int { return ticks(t.LeaseDuration) }

func leading(s *machine.State) bool { return s.Role == machine.Leading }

func holds(s *machine.State) bool {
	return s.Role == machine.Leading || s.Role == machine.Draining || s.Lock.Owner == machine.Mine
}

func owned(s *machine.State) bool {
	return s.Lock.Owner == machine.Other && !s.Lock.Record.ThroughSession() || s.Lock.Owner == machine.Foreign
}

func ownerless(s *machine.State) bool {
	return s.Lock.Owner == machine.Free || s.Lock.Owner == machine.Unowned || s.Lock.Owner == machine.Orphaned
}

// horizon is how far back an instant may lie and still be told from older ones: farther
// than anything that is ever added to one. The last of three in line waits for two turns.
// Who sees nothing of its session for two leases gives it up.
func horizon(t record.Timing, r record.Renewal) int {
	farthest := ticks(t.ObserverWait(t.LeaseDuration) + 2*t.NominateDelay)
	if r == record.RenewalSession {
		farthest = max(farthest, ticks(2*t.LeaseDuration))
	}
	return farthest + 1
}

// plan is how values of a struct are walked.
type plan struct {
	index int
	field field
	kind  reflect.Kind
	reach int
}

// classify finds the class of a field by the table, and else by its type.
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

// lastSight is compared with when a read or a list was sent, of which the canonical form
// keeps the outcome; and with now while the stream is behind. What is sent from now on is
// later, unless the sight is of this very instant.
func lastSight(_ *canon, m *proc) class {
	if m.streamed() != m.state().Lock.Version {
		return since
	}
	return present
}

// keptUntil: what a session renews counts as given up once it is never.
func keptUntil(c *canon, _ *proc) class {
	if c.sessions {
		return due
	}
	return until
}

// ofOtherBeat says whether a record is not of the beat that the lock shows now.
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
