package session

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestMembersThatAreGone checks what sessions show of members that are gone: their revision, and whether they
// ended their sessions themselves.
func TestMembersThatAreGone(t *testing.T) {
	timing, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	d := NewDirectory("g", timing)
	revision := uint64(0)
	show := func(host string, n int, identity, runs string, ended ...string) {
		revision++
		r := &record.Record{Holder: identity, Group: "g", Mark: &record.Mark{Identity: identity, Beat: revision, Duration: timing.LeaseDuration},
			Member: &record.Member{Identity: identity, Revision: runs}}
		if s := d.slot(SlotName("g", host, n)); s != nil {
			r.History = s.record.History
		}
		if len(ended) > 0 {
			over := EndedRecord(r, ended[0], ended[1])
			r = &over
		}
		d.Observe(record.Instant(time.Second), SlotName("g", host, n), r, record.Version{UID: host, Revision: revision})
	}
	show("a", 0, "a_00000001", "red", "a_00000001", left)
	show("a", 0, "a_00000002", "green", "b_00000001", "expired")
	show("b", 0, "b_00000001", "red")
	show("b", 1, "b_00000002", "green", "b_00000002", left)
	show("c-0", 0, "c-0_00000001", "red", "c-0_00000001", left)

	for identity, want := range map[string]struct {
		revision string
		left     bool
	}{
		"a_00000001":   {"green", true}, // its session's slot was reused, and shows what its host runs now
		"a_00000002":   {"green", false},
		"b_00000001":   {"red", false},
		"b_00000002":   {"green", true},
		"b_00000003":   {"green", false},
		"c_00000001":   {},
		"c-0_00000001": {"red", true},
		"d_00000001":   {},
		"an elector":   {},
	} {
		if got := d.MemberRevision(identity); got != want.revision {
			t.Errorf("%s was of revision %q, want %q", identity, got, want.revision)
		}
		if got := d.Left(identity); got != want.left {
			t.Errorf("%s ended its session itself: %v", identity, got)
		}
	}
}
