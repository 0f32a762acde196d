package session

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestAnOldFallIsForgiven checks rule no-flapping for the fall of an earlier session of the host: it counts for an hour, or for
// twice the probation that it causes if that is longer, by the times in the records of the sessions.
func TestAnOldFallIsForgiven(t *testing.T) {
	timing := record.Timing{LeaseDuration: 15 * time.Second, StandDown: 30 * time.Minute}
	fell := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		what    string
		fallen  int
		renewed time.Time
		other   time.Duration
		want    int
	}{
		{"a moment ago", 0, fell, time.Second, 1},
		{"as long ago as it counts", 0, fell, time.Hour, 1},
		{"longer ago", 0, fell, time.Hour + time.Second, 0},
		{"longer ago, but it causes a longer probation", 1, fell, time.Hour + time.Second, 2},
		{"longer ago than that", 1, fell, 2*time.Hour + time.Second, 0},
		{"weeks ago, many times", 20, fell, 500 * time.Hour, 0},
		{"at a time that nobody knows", 0, time.Time{}, 500 * time.Hour, 1},
		{"later than the others have beaten", 0, fell, -time.Hour, 1},
	} {
		bound := func(by string, fallen int, at time.Time) *record.Record {
			return &record.Record{
				Holder: by, Group: "g", Renewed: at, Mark: &record.Mark{Identity: by, Beat: 7, Duration: timing.LeaseDuration},
				Member: &record.Member{Identity: by, Fallen: fallen},
			}
		}
		ended := EndedRecord(bound("h_1", c.fallen, fell), "x_1", "expired")
		ended.Renewed = c.renewed
		d := NewDirectory("g", timing)
		d.List(second, second, 10, []Shown{
			{SlotName("g", "h", 0), &ended, record.Version{UID: "u", Revision: 9}},
			{SlotName("g", "x", 0), bound("x_1", 0, fell.Add(c.other)), record.Version{UID: "v", Revision: 10}},
		})
		own := NewOwn(Config{Group: "g", Host: "h", Timing: timing}, d, record.Member{Identity: "h_2"})
		actions, _ := own.Step(second)
		if got := actions[0].(Write).Record.Member.Fallen; got != c.want {
			t.Errorf("%s: it says that it fell %d times, want %d", c.what, got, c.want)
		}
	}
}
