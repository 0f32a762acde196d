package session

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestWhatWasSeenIsMade checks that a session exists as soon as the stream shows it, even if its write is not
// answered: terms may rely on it. If the same burst of the stream shows the session's end, we write nothing
// under its identity any more (rule a-session-ends-once).
func TestWhatWasSeenIsMade(t *testing.T) {
	timing, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	const at = record.Instant(time.Second)
	for what, tt := range map[string]struct {
		end  func(made record.Record) *record.Record
		lost Reason
	}{
		"deleted": {func(record.Record) *record.Record { return nil }, LostDeleted},
		"ended":   {func(r record.Record) *record.Record { r = EndedRecord(&r, "b_00000001", "expired"); return &r }, LostEnded},
	} {
		t.Run(what, func(t *testing.T) {
			d := NewDirectory("g", timing)
			own := NewOwn(Config{Group: "g", Host: "a", Timing: timing}, d, record.Member{Identity: "a_00000001", Ready: true})
			d.List(at, at, 10, nil)
			actions, _ := own.Step(at)
			made := actions[0].(Write)

			version := record.Version{UID: "u", Revision: 11}
			d.Observe(at, made.Name, &made.Record, version)
			if _, ours := own.Seen(at, made.Name, &made.Record, version); !ours {
				t.Fatal("a beat of ours was not recognized")
			}
			if !own.Joined() {
				t.Error("what was seen does not count as made")
			}
			after := record.Version{UID: "u", Revision: 12}
			end := tt.end(made.Record)
			if end == nil {
				after.UID = ""
			}
			d.Observe(at, made.Name, end, after)
			own.WriteDone(at, made.Beat, machine.Unknown, record.Version{})
			if actions, _ := own.Step(at + at); len(actions) != 0 {
				t.Errorf("it asks for %+v under an identity that is over", actions)
			}
			if why, lost := own.Lost(); !lost || why != tt.lost {
				t.Errorf("lost: %v, %q; want %q", lost, why, tt.lost)
			}
		})
	}
}
