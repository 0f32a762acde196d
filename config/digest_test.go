package config

import "fmt"

// Digest is the same for equal elections.
func (e Election) Digest() string {
	text := fmt.Sprintf("%q", e.Name)
	for _, f := range ofElection {
		text += fmt.Sprintf(" %s %q", f.field, fmt.Sprint(f.of(&e)))
	}
	return text
}
