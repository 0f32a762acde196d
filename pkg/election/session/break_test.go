package session

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A stranger broke a session, then its slot was taken over, unseen during a break of the
// stream, and broken again: the list shows what was known before, but somebody may live.
func TestABreakStartsTheWaitForAnUnknownOwnerAnew(t *testing.T) {
	timing, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	d := NewDirectory("g", timing)
	name := slotName("g", "h", 0)
	broken := func(revision uint64) []Shown {
		r := &record.Record{Holder: "h_00000001", Member: &record.Member{Identity: "h_00000001"}, Group: "g"}
		return []Shown{{Name: name, Record: r, Version: record.Version{UID: "u", Revision: revision}}}
	}
	second := record.Instant(time.Second)
	d.List(1*second, 1*second, 10, broken(10))
	d.List(5*second, 5*second, 10, broken(10))
	if dead, _ := d.Expired(8 * second); len(dead) != 1 {
		t.Fatalf("a session that nobody changed is not expired after its duration: %v", dead)
	}
	d.List(9*second, 9*second, 20, broken(20))
	if dead, _ := d.Expired(12 * second); len(dead) != 0 {
		t.Errorf("a session that changed during a break is ended after 3s, its duration is %v", timing.LeaseDuration)
	}
	if dead, _ := d.Expired(15 * second); len(dead) != 1 {
		t.Error("it is never ended")
	}
}
