package rollout

import "slices"

// CheckAbsent stands in Failure.Check when an election has no ready member of the canary and the spec
// makes that a failure.
const CheckAbsent = "absent"

// maxFailures bounds the stored list of failures. One more failure exceeds any FailureLimit.
const maxFailures = 500

// fails records what checks find, and says whether the rollout must stop.
func (l *look) fails() bool {
	full := false
	for _, f := range l.seen.Failures {
		if slices.ContainsFunc(l.st.Failures, f.same) {
			continue
		}
		if len(l.st.Failures) == maxFailures {
			full = true
			break
		}
		l.fail(f)
	}
	if l.rollsBackAbsent() {
		return true
	}
	counting := slices.DeleteFunc(slices.Clone(l.st.Failures), func(f Failure) bool { return f.Forgiven })
	if len(counting) <= l.spec.FailureLimit && !full {
		return false
	}
	why := "too many failures"
	if len(counting) > 0 {
		why = counting[len(counting)-1].String()
	}
	if l.spec.OnFailure == HoldOn {
		l.st.Phase, l.st.Message = Degraded, l.at("held by "+why+"; retry goes on, abort takes everything back")
	} else {
		l.takeBack(RolledBack, l.at("rolled back: "+why))
	}
	return true
}

// rollsBackAbsent takes everything back if an election has no ready member of the canary and the
// spec asks for a rollback then.
func (l *look) rollsBackAbsent() bool {
	if l.spec.WhenPreferredAbsent != RollbackWhenAbsent {
		return false
	}
	names := l.lacking()
	if len(names) == 0 {
		return false
	}
	f := Failure{Check: CheckAbsent, Election: names[0], What: "no member of " + l.spec.Canary + " is ready"}
	l.fail(f)
	l.takeBack(RolledBack, l.at("rolled back: "+f.String()))
	return true
}

func (l *look) fail(f Failure) {
	f.At, f.Forgiven = l.now, false
	l.st.Failures = append(l.st.Failures, f)
	l.tell(Event{Kind: Failed, Failure: f})
}

// String returns the failure on one line.
func (f Failure) String() string {
	s := f.Check
	if f.Election != "" {
		s += ", " + f.Election
	}
	if f.Member != "" {
		s += ", " + f.Member
	}
	return s + ": " + f.What
}
