package member

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// perElection is a preference whose parts a test sets.
type perElection struct {
	digest    string
	preferred map[string]record.Preferred
}

func (p perElection) Digest() string                   { return p.digest }
func (p perElection) For(name string) record.Preferred { return p.preferred[name] }

// TestPreferenceIsToldToWhomItConcerns checks that prefer steps only the contests whose preferred revision
// or digest changed.
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
		{"one has another word", perElection{"1", map[string]record.Preferred{"a": {State: blue.State, Revision: blue.Revision, NoTakeover: true}, "b": blue}}, map[string]bool{"a": true}},
		{"the digest changed", perElection{"2", both}, map[string]bool{"a": true, "b": true}},
	} {
		for name := range both {
			t.Run(tt.what+": "+name, func(t *testing.T) {
				m := New(Config{Group: "edge", Identity: "m1_01234567"})
				election := &Election{ID: 1, Name: name, Lock: name, Settings: &Settings{}}
				c := &contest{m: m, election: election, slot: notQueued, leader: untold, state: machine.State{View: &machine.View{}}}
				c.preferred = &preferred{blue, "1"}
				m.contests.add(c)
				m.prefer(tt.next)
				if told := c.leader != untold; told != tt.told[name] {
					t.Errorf("told: %v, want %v", told, tt.told[name])
				}
			})
		}
	}
}
