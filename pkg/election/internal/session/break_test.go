package session

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestABreakStartsTheWaitAnew checks that a list after a break of the stream restarts the wait for a session
// that changed meanwhile, even if the record says what it said before: the break may have hidden beats of a
// living owner, and a stranger may have restored the earlier record (rule unknown-is-waited-out).
func TestABreakStartsTheWaitAnew(t *testing.T) {
	for what, said := range map[string]*record.Mark{
		"broken":   nil,
		"put back": {Identity: "h_00000001", Beat: 7, Duration: 5 * time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			d := newSlots(t).Directory // every end is proven
			name := SlotName("g", "h", 0)
			shown := func(revision uint64) []Shown {
				r := &record.Record{Holder: "h_00000001", Member: &record.Member{Identity: "h_00000001"}, Group: "g", Mark: said}
				return []Shown{{Name: name, Record: r, Version: record.Version{UID: "u", Revision: revision}}}
			}
			d.List(1*second, 1*second, 10, shown(10))
			d.List(5*second, 5*second, 10, shown(10))
			if dead, _, _ := d.Expired(8 * second); len(dead) != 1 {
				t.Fatalf("a session that nobody changed is not expired after its duration: %v", dead)
			}
			d.List(9*second, 9*second, 20, shown(20))
			if dead, _, _ := d.Expired(12 * second); len(dead) != 0 {
				t.Errorf("a session that changed during a break is ended after 3s, its duration is %v", d.timing.LeaseDuration)
			}
			if dead, _, _ := d.Expired(15 * second); len(dead) != 1 {
				t.Error("it is never ended")
			}
		})
	}
}

// TestTheSameRevisionOfAnotherObject checks that a list and a read each notice that the store was restored
// from a backup if they show another uid at a store revision at which we saw an object of this name. A
// restored store counts on from the backup, so it may give that revision to another object.
func TestTheSameRevisionOfAnotherObject(t *testing.T) {
	timing, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	name := SlotName("g", "h", 0)
	shown := func(uid string) (*record.Record, record.Version) {
		return &record.Record{Holder: "h_00000001", Group: "g"}, record.Version{UID: uid, Revision: 100}
	}
	r, v := shown("u7")
	for _, again := range []string{"u7", "u5"} {
		d := NewDirectory("g", timing)
		d.List(1, 1, 100, []Shown{{Name: name, Record: r, Version: v}})
		o, w := shown(again)
		if same := d.Read(3, 2, name, o, w); same != (again == "u7") {
			t.Errorf("a read of %s@100 after u7@100: consistent %v", again, same)
		}
		if same := d.List(5, 4, 100, []Shown{{Name: name, Record: o, Version: w}}); same != (again == "u7") {
			t.Errorf("a list of %s@100 after u7@100: consistent %v", again, same)
		}
	}
}

// TestPutBackIsNotUntouched checks that a session that the stream showed unbound counts as tampered until
// its owner beats again, even if a stranger restores the record before anybody looks.
func TestPutBackIsNotUntouched(t *testing.T) {
	timing, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	d := NewDirectory("g", timing)
	name := SlotName("g", "h", 0)
	show := func(revision, beat uint64, holder string) {
		r := &record.Record{Holder: holder, Mark: &record.Mark{Identity: "h_00000001", Beat: beat, Duration: timing.LeaseDuration}, Group: "g"}
		d.Observe(record.Instant(revision), name, r, record.Version{UID: "u", Revision: revision})
	}
	for _, step := range []struct {
		beat     uint64
		holder   string
		tampered bool
	}{{1, "h_00000001", false}, {1, "", true}, {1, "h_00000001", true}, {2, "h_00000001", false}} {
		show(d.revisionOf(name)+1, step.beat, step.holder)
		if got := d.slot(name).tampered; got != step.tampered {
			t.Errorf("beat %d of %q: tampered %v", step.beat, step.holder, got)
		}
	}
}

func (d *Directory) revisionOf(name string) uint64 {
	if s := d.slot(name); s != nil {
		return s.version.Revision
	}
	return 0
}
