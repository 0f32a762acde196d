package session

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestASessionOfAGroupThatIsNotOurs checks that the session of another group owns the locks that it renewed,
// but is no peer, and that we do not end it. It stays a session even if a stranger breaks its record.
func TestASessionOfAGroupThatIsNotOurs(t *testing.T) {
	d := NewDirectory("g", newSlots(t).timing)
	const name = "primacy-other-h-0"
	r := newSlots(t).by("h_1", "h_1", 1, d.timing.LeaseDuration)
	r.Group, r.Member = "other", &record.Member{Identity: "h_1", Ready: true}
	if !d.Shows(name, r) || d.Shows("other-h-0", r) || d.Shows(name, &record.Record{}) {
		t.Fatal("what a session is, is not known")
	}
	d.List(1*second, 1*second, 10, []Shown{{Name: name, Record: r, Version: record.Version{UID: "u", Revision: 10}}})
	owner := machine.Session{UID: "u", Holder: "h_1"}
	if v, _ := d.View(2*second, ""); !v.Sessions[name].Equal(owner) || len(v.Peers) != 0 {
		t.Errorf("%+v", v)
	}
	broken := &record.Record{Unreadable: "JSON"}
	if !d.Shows(name, broken) || !d.Shows(name, nil) {
		t.Error("a broken session is none any more")
	}
	d.Observe(3*second, name, broken, record.Version{UID: "u", Revision: 11})
	if v, _ := d.View(3*second, ""); !v.Sessions[name].Equal(machine.Session{UID: "u"}) {
		t.Errorf("broken: %+v", v.Sessions)
	}
	d.provenAt = 3600 * second
	if dead, _, _ := d.Expired(60 * second); len(dead) != 0 {
		t.Error("another group's session is ended")
	}
	d.Observe(61*second, name, nil, record.Version{Revision: 12})
	if v, _ := d.View(61*second, ""); len(v.Sessions) != 0 {
		t.Errorf("deleted: %+v", v.Sessions)
	}
}
