package app

import "testing"

// The rules of a scoped election are its own, also where another's name begins with the same.
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
