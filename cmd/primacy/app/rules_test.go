package app

import "testing"

// A scoped election has its own rules, even if another's name is a prefix of its name.
func TestRulesOfScopedElections(t *testing.T) {
	for range 50 { // maps have no order
		b := rulebook{scoped: map[string]rules{"weight": {}, "weight-preferred": {}}}
		for election, only := range map[string]string{"weight-red": "red", "weight-preferred-red": "red", "other": ""} {
			if got := b.rules(election).only; got != only {
				t.Fatalf("%s is of revision %q, want %q", election, got, only)
			}
		}
	}
}
