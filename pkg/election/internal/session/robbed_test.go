package session

import (
	"slices"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestAnEarlierMembersSession checks who may be at work after the session of another member has replaced a living one.
func TestAnEarlierMembersSession(t *testing.T) {
	timing, err := record.Profile(record.DefaultProfile)
	if err != nil {
		t.Fatal(err)
	}
	by := func(holder, member string, transitions, renewed int) *record.Record {
		return &record.Record{
			Holder: holder, Group: "g", Transitions: transitions, Renewed: time.Unix(int64(renewed), 0), Member: &record.Member{Identity: member},
			Mark: &record.Mark{Identity: holder, Transitions: transitions, Beat: uint64(renewed), Duration: timing.LeaseDuration},
		}
	}
	live := func(member string, transitions, renewed int) *record.Record {
		return by(member, member, transitions, renewed)
	}
	end := func(member string, transitions, renewed int) *record.Record {
		return by("", member, transitions, renewed)
	}
	for _, tt := range []struct {
		name string
		// shown are what a stream shows after y's beat, and last is what comes after that.
		shown []*record.Record
		last  func(d *Directory, name string, v record.Version)
		want  bool
	}{
		{"y beats", []*record.Record{live("y", 4, 51)}, nil, false},
		{"y ends", []*record.Record{end("y", 4, 51)}, nil, false},
		{"y ends, and another takes the slot", []*record.Record{end("y", 4, 51), live("z", 5, 52)}, nil, false},
		{"y ends, and a stranger puts x back", []*record.Record{end("y", 4, 51), live("x", 3, 20)}, nil, false},
		{"x is put back", []*record.Record{live("x", 3, 20)}, nil, true},
		{"the end of x is put back", []*record.Record{end("x", 3, 20)}, nil, true},
		{"x is put back from a slot that was deleted", []*record.Record{live("x", 9, 20)}, nil, true},
		{"x is put back, and its clock was ahead", []*record.Record{live("x", 9, 60)}, nil, true},
		{"the end of x is put back, and another takes the slot", []*record.Record{end("x", 3, 20), live("z", 4, 51)}, nil, true},
		{"a list shows another", nil, func(d *Directory, name string, v record.Version) {
			d.List(2*second, 1*second, v.Revision, []Shown{{name, live("z", 5, 52), v}})
		}, false},
		{"a list shows one with no more transitions", nil, func(d *Directory, name string, v record.Version) {
			d.List(2*second, 1*second, v.Revision, []Shown{{name, live("z", 4, 52), v}})
		}, true},
		{"a list shows an older one", nil, func(d *Directory, name string, v record.Version) {
			d.List(2*second, 1*second, v.Revision, []Shown{{name, live("x", 9, 20), v}})
		}, true},
		{"a read shows an older one", nil, func(d *Directory, name string, v record.Version) {
			d.Read(2*second, 1*second, name, live("x", 9, 20), v)
		}, true},
		{"a list shows the end that another host wrote, by a clock that is behind", nil, func(d *Directory, name string, v record.Version) {
			r := end("z", 5, 20)
			r.History = []record.Entry{{Who: "other_00000001"}}
			d.List(2*second, 1*second, v.Revision, []Shown{{name, r, v}})
		}, false},
		{"it has lapsed, and another takes the slot", nil, func(d *Directory, name string, v record.Version) {
			at := d.endOf(d.slot(name))
			d.provenAt = at
			d.Observe(at, name, live("z", 5, 52), v)
		}, false},
		{"the slot is made anew", nil, func(d *Directory, name string, v record.Version) {
			v.UID = "u2"
			d.Observe(2*second, name, live("x", 3, 20), v)
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, name := NewDirectory("g", timing), SlotName("g", "h", 0)
			v := record.Version{UID: "u", Revision: 1}
			d.Observe(1*second, name, live("y", 4, 50), v)
			for _, r := range tt.shown {
				v.Revision++
				d.Observe(1*second, name, r, v)
			}
			if v.Revision++; tt.last != nil {
				tt.last(d, name, v)
			}
			robbed := func(at record.Instant) bool {
				view, _ := d.View(at, "")
				return isRobbed(view.Sessions[name], "y")
			}
			if got := robbed(2 * second); got != tt.want {
				t.Errorf("y may be at work: %v, want %v", got, tt.want)
			}
			view, changes := d.View(2*second, "")
			for changes != 0 && isRobbed(view.Sessions[name], "y") {
				view, changes = d.View(changes, "")
			}
			if isRobbed(view.Sessions[name], "y") {
				t.Error("no time is said at which y has stopped")
			}
			if at := (2 * second).Add(timing.ObserverWait(timing.LeaseDuration)); robbed(at) {
				t.Errorf("y may be at work at %v", at)
			}
		})
	}
}

func isRobbed(s machine.Session, identity string) bool {
	return slices.ContainsFunc(s.Robbed, func(r machine.Robbed) bool { return r.Identity == identity })
}
