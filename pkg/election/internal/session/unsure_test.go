package session

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestASlotIsNotLeftInDoubt checks that a member does not go on to another slot under its identity after a write whose outcome it does
// not know: that write may be carried out late, and the session that it creates lapses. A slot whose write was surely not
// carried out is left without more ado.
func TestASlotIsNotLeftInDoubt(t *testing.T) {
	for name, outcome := range map[string]machine.Answer{"unknown": machine.Unknown, "refused": machine.Refused} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.starts(record.Instant(time.Second), record.Member{Identity: "h_00000001"})
			h.leaves(record.Instant(2 * time.Second))
			slot := h.own.Name()
			h.Directory = h.fresh(record.Instant(3 * time.Second))
			h.own = NewOwn(Config{Group: "g", Host: "h", Timing: h.timing}, h.Directory, record.Member{Identity: "h_00000002"})
			write := func(now record.Instant) Write {
				t.Helper()
				for range 3 {
					actions, _ := h.own.Step(now)
					for _, a := range actions {
						switch do := a.(type) {
						case Read:
							h.own.ReadDone(do.Name) // it shows what was shown before
						case Write:
							return do
						}
					}
				}
				return Write{}
			}
			first := write(record.Instant(4 * time.Second))
			h.own.WriteDone(record.Instant(5*time.Second), first.Beat, outcome, record.Version{})
			second := write(record.Instant(8 * time.Second))
			if first.Name != slot || second.Name != slot {
				t.Fatalf("it writes %q, then %q", first.Name, second.Name)
			}
			h.own.Unfit(second.Beat)
			h.own.WriteDone(record.Instant(9*time.Second), second.Beat, machine.Refused, record.Version{})
			third := write(record.Instant(12 * time.Second))
			why, lost := h.own.Lost()
			if unsure := outcome == machine.Unknown; unsure != (lost && why == LostUnsure && third.Name == "") || !unsure && third.Name == "" {
				t.Errorf("it writes %q then; lost: %q", third.Name, why)
			}
		})
	}
}
