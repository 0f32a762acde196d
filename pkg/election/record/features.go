package record

import "fmt"

// Features are the settings of an election that may rule each other out.
type Features struct {
	Disabled, Ranges, FailsOpen, Migrates bool
	// SharedWith names the electors that are not ours and share the lock; empty for none.
	SharedWith string
	// Apart: the lock is not in the store that holds the sessions.
	Apart bool
	// Timing is the election's, and Session that of the member's session.
	Timing, Session Timing
}

// Clash is a feature that another feature rules out.
type Clash struct {
	// Field is where the feature is set, as a configuration calls it: FieldRange or FieldOutage.
	Field string
	// Problem is what is wrong with it, and Hint what to do about that.
	Problem, Hint string
}

// Fields of a Clash.
const (
	FieldRange  = "range"
	FieldOutage = "outage"
)

// Clashes returns the features that others rule out; nil for none.
func (f Features) Clashes() (all []Clash) {
	const oneOfTwo = "leave out one of the two"
	for _, one := range []struct {
		given       bool
		field, what string
		disabled    string
	}{
		{f.Ranges, FieldRange, "ranges", "every member would have the same range"},
		{f.FailsOpen, FieldOutage, "a term that fails open", "no outage stops the work, so it cannot fail open"},
	} {
		switch {
		case !one.given:
		case f.SharedWith != "":
			all = append(all, Clash{one.field, fmt.Sprintf("%s cannot be combined with a lock that is shared with %s", one.what, f.SharedWith), oneOfTwo})
		case f.Migrates:
			all = append(all, Clash{one.field, one.what + " cannot be combined with a migration of the lock", "finish the migration first"})
		}
		if one.given && f.Disabled {
			all = append(all, Clash{one.field, "with enabled: false " + one.disabled, oneOfTwo})
		}
	}
	return all
}

// SessionObstacle says why beats of a session cannot keep the election's terms alive; empty if they can.
func (f Features) SessionObstacle() string {
	t, of := f.Timing, f.Session
	switch {
	case f.Apart:
		return "sessions are Leases, and the lock is kept elsewhere"
	case f.SharedWith != "":
		return "the electors that share the lock know nothing of sessions"
	case f.Migrates:
		return "a lock that is being migrated is renewed by its own record"
	case f.Ranges:
		return "ranges are made of the renewals of the lock itself"
	case f.FailsOpen:
		return "when a session ends, all its elections end, so none can fail open alone"
	case t.LeaseDuration != of.LeaseDuration, t.RenewInterval != of.RenewInterval, t.Drift != of.Drift:
		return "sessions are shared, so an election that they renew has no leaseDuration, renewInterval or drift of its own"
	}
	return ""
}
