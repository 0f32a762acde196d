//go:build linux

package child

import (
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestEnvironmentToken checks that a term without a token sets no PRIMACY_TOKEN.
func TestEnvironmentToken(t *testing.T) {
	t.Setenv("PRIMACY_TOKEN", "99")
	for token, want := range map[record.Token]string{7: "PRIMACY_TOKEN=7", 0: ""} {
		found := ""
		for _, v := range Environment(nil, election.Term{Token: token}, 1) {
			if strings.HasPrefix(v, "PRIMACY_TOKEN") {
				found += v
			}
		}
		if found != want {
			t.Errorf("token %d: %q, want %q", token, found, want)
		}
	}
}
