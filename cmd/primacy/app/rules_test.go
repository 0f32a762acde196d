package app

import "testing"

// TestRulesOfScopedElections checks that a scoped election has its own rules, even if the name of another
// is a prefix of its name.
func TestRulesOfScopedElections(t *testing.T) {
	for range 50 { // maps have no order
		b := rulebook{scoped: map[string]rules{"weight": {}, "weight-preferred": {}}}
		for election, only := range map[string]string{"weight-red": "red", "weight-preferred-red": "red", "other": ""} {
			if got := b.rules(election).onlyRevision; got != only {
				t.Fatalf("%s is of revision %q, want %q", election, got, only)
			}
		}
	}
}
