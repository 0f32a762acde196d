package member

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestOnlyBeatsAreHeard checks that a session that the stream shows again without a new beat is no sign of life: otherwise nobody would
// ever take a lock from a dead holder whose session is edited again and again.
func TestOnlyBeatsAreHeard(t *testing.T) {
	m := &Member{heard: map[string]sign{}, unheardOf: map[string]sign{}}
	for _, tt := range []struct {
		now, want record.Instant
		of        string
		beat      uint64
	}{{1, 1, "a_1", 7}, {2, 1, "a_1", 7}, {3, 1, "a_1", 6}, {4, 4, "a_1", 8}, {5, 5, "a_2", 1}} {
		m.now = tt.now
		m.hear("slot", &record.Record{Holder: tt.of, Mark: &record.Mark{Identity: tt.of, Beat: tt.beat}})
		if got := m.heard["slot"]; got.at != tt.want || got.of != tt.of {
			t.Errorf("at %d, beat %d of %s: %+v, want one at %d", tt.now, tt.beat, tt.of, got, tt.want)
		}
	}
}
