package session

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestDisownedBesideABeat checks that only the owner's own beats decide what a session disowns, and whether
// a living member, of whatever group, runs a version that knows disowned locks.
func TestDisownedBesideABeat(t *testing.T) {
	timing, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	const second = record.Instant(time.Second)
	d := NewDirectory("g", timing)
	version := record.Version{UID: "u", Revision: 1}
	show := func(group string, beat uint64, protocol int, disowned ...record.Disowned) {
		name := SlotName(group, "a", 0)
		r := NewOwn(Config{Group: group, Host: "a", Timing: timing}, d, record.Member{
			Identity: "a_00000001", Setup: record.Setup{Protocol: protocol}, Disowned: disowned,
		}).record(second)
		r.Mark.Beat = beat
		version.Revision++
		d.Observe(second, name, &r, version)
	}
	listed := func() int {
		v, _ := d.View(second, "")
		return len(v.Sessions[SlotName("g", "a", 0)].Disowned)
	}
	for _, tt := range []struct {
		beat     uint64
		disowned []record.Disowned
		want     int
	}{
		{1, nil, 0},
		{1, []record.Disowned{{Lock: "l", Beat: 3}}, 0}, // a stranger's
		{2, []record.Disowned{{Lock: "l", Beat: 3}}, 1},
		{2, nil, 1}, // a stranger's
		{3, nil, 0},
	} {
		show("g", tt.beat, record.Protocol, tt.disowned...)
		if got := listed(); got != tt.want {
			t.Errorf("beat %d with %v: %d locks are disowned, want %d", tt.beat, tt.disowned, got, tt.want)
		}
	}
	older := func(now record.Instant) bool {
		v, _ := d.View(now, "")
		return v.Older
	}
	if older(second) {
		t.Error("a member of this version is older")
	}
	show("other", 1, 0)
	if !older(second) {
		t.Error("a living member of another group that says nothing is not older")
	}
	if older(60 * second) {
		t.Error("a dead member is older")
	}
}
