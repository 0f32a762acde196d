package session

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestWhatCannotBeEndedIsRead checks that we read a dead member's session if we cannot end it. A restored
// store may hold an earlier version of that session than we know; nobody changes it any more, so our writes
// fail, and only a read shows why.
func TestWhatCannotBeEndedIsRead(t *testing.T) {
	timing, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	d := NewDirectory("g", timing)
	own := NewOwn(Config{Group: "g", Host: "a", Timing: timing}, d, record.Member{Identity: "a_00000001", Ready: true})
	dead := SlotName("g", "b", 0)
	r := &record.Record{Holder: "b_00000001", Group: "g", Member: &record.Member{Identity: "b_00000001"},
		Mark: &record.Mark{Identity: "b_00000001", Beat: 7, Duration: timing.LeaseDuration}}
	at := func(seconds int64) record.Instant { return record.Instant(seconds * int64(time.Second)) }
	d.List(at(1), at(1), 10, []Shown{{Name: dead, Record: r, Version: record.Version{UID: "u", Revision: 10}}})

	actions, _ := own.Step(at(1))
	join := actions[0].(Write)
	d.Observe(at(1), join.Name, &join.Record, record.Version{UID: "v", Revision: 11})
	own.WriteDone(at(1), join.Beat, machine.Committed, record.Version{UID: "v", Revision: 11})

	d.provenAt = at(3600)
	tries := func(now record.Instant) (writes, reads int) {
		actions, _ := own.Step(now)
		for _, a := range actions {
			switch a := a.(type) {
			case Write:
				if a.Name == dead {
					writes++
				}
			case Read:
				if a.Name == dead {
					reads++
				}
			}
		}
		return writes, reads
	}
	if writes, reads := tries(at(10)); writes != 1 || reads != 0 {
		t.Fatalf("first: %d writes and %d reads, want 1 and 0", writes, reads)
	}
	if writes, reads := tries(at(20)); writes != 1 || reads != 1 {
		t.Fatalf("second: %d writes and %d reads, want 1 and 1", writes, reads)
	}
	own.ReadFailed(at(20), dead)
	own.ReadDone(dead)
	if !d.Read(at(22), at(21), dead, r, record.Version{UID: "u", Revision: 10}) {
		t.Error("what is known already shows a restore")
	}
	if d.Read(at(24), at(23), dead, r, record.Version{UID: "u", Revision: 9}) {
		t.Error("an earlier version shows no restore")
	}
}
