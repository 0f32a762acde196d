package election

import (
	"testing"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// perElection is a preference whose parts a test sets.
type perElection struct {
	digest    string
	preferred map[string]record.Preferred
}

func (p perElection) Digest() string                   { return p.digest }
func (p perElection) For(name string) record.Preferred { return p.preferred[name] }

// Only an election whose preferred revision or digest changed is told.
func TestPreferenceIsToldToWhomItConcerns(t *testing.T) {
	blue, green := record.Prefer("blue"), record.Prefer("green")
	both := map[string]record.Preferred{"a": blue, "b": blue}
	for _, tt := range []struct {
		what string
		next perElection
		told map[string]bool
	}{
		{"the same again", perElection{"1", both}, nil},
		{"one changed", perElection{"1", map[string]record.Preferred{"a": green, "b": blue}}, map[string]bool{"a": true}},
		{"the digest changed", perElection{"2", both}, map[string]bool{"a": true, "b": true}},
	} {
		for name := range both {
			t.Run(tt.what+": "+name, func(t *testing.T) {
				m := &Manager{cfg: Config{Clock: clock.Boottime(), Log: zap.NewNop(), Group: "edge"}}
				r := newRealm(m, "m1_01234567", newLatest[Preference](record.Prefer("")), 0)
				e := &entrant{spec: Spec{Name: name, Lock: name}} // without a status, being told anything panics
				r.contests.add(&contest{entrant: e, slot: notQueued, state: machine.State{View: &machine.View{}, Preferred: blue, Digest: "1"}})
				defer func() {
					if told := recover() != nil; told != tt.told[name] {
						t.Errorf("told: %v, want %v", told, tt.told[name])
					}
				}()
				r.prefer(tt.next)
			})
		}
	}
}
