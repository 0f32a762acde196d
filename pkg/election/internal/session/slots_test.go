package session

import (
	"fmt"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// host is a host whose members use the same slots, one after the other.
type host struct {
	*Directory
	t        *testing.T
	timing   record.Timing
	revision uint64
	own      *Own
}

// published is a member's longest lease and drift.
type published struct {
	lease time.Duration
	ppm   int
}

// member is one with its own configuration.
func (p published) member(identity string) record.Member {
	n := int(p.lease / time.Second)
	return record.Member{
		Identity: identity, Config: fmt.Sprint("c", n),
		Setup: record.Setup{LongestLease: n, DriftPPM: p.ppm, Timings: fmt.Sprint("t", n)},
	}
}

func newHost(t *testing.T) *host {
	timing := record.Timing{LeaseDuration: 5 * time.Second, RenewInterval: time.Second, Drift: 0.01}
	return &host{Directory: NewDirectory("g", timing), t: t, timing: timing}
}

// shows has the directory see a record in the host's slot.
func (h *host) shows(now record.Instant, name string, r record.Record) {
	h.revision++
	h.Observe(now, name, &r, record.Version{UID: name, Revision: h.revision})
}

// starts begins the next member of the host, which knows nothing but the first list: what the slots show now.
func (h *host) starts(now record.Instant, as record.Member) {
	h.Directory = h.fresh(now)
	h.own = NewOwn(Config{Group: "g", Host: "h", Timing: h.timing}, h.Directory, as)
	h.steps(now)
}

// steps steps the present member. The store commits what it writes.
func (h *host) steps(now record.Instant) {
	actions, _ := h.own.Step(now)
	for _, a := range actions {
		if w, is := a.(Write); is && w.Beat != 0 {
			h.shows(now, w.Name, w.Record)
			h.own.WriteDone(now, w.Beat, machine.Committed, record.Version{UID: w.Name, Revision: h.revision})
		}
	}
}

// leaves has the present member end its session.
func (h *host) leaves(now record.Instant) {
	h.own.Leave()
	h.steps(now)
}

// dies has another member end the session of the present one.
func (h *host) dies(now record.Instant) {
	h.shows(now, h.own.Name(), EndedRecord(h.slot(h.own.Name()).record, "x_1", "expired"))
}

// used checks that the host uses its first slot only, and returns what that slot says of predecessors.
func (h *host) used() []record.Predecessor {
	h.t.Helper()
	if len(h.slots) != 1 {
		h.t.Fatalf("the host has %d sessions", len(h.slots))
	}
	return h.slots[0].record.Member.Predecessors
}

// fresh is a directory that sees the store for the first time.
func (h *host) fresh(now record.Instant) *Directory {
	d := NewDirectory("g", h.timing)
	d.List(now, now, h.revision, h.shown())
	return d
}

// shown is what the store shows.
func (h *host) shown() []Shown {
	all := make([]Shown, 0, len(h.slots))
	for _, s := range h.slots {
		all = append(all, Shown{s.name, s.record, s.version})
	}
	return all
}

// wants checks by what a member waits, whose configuration is the shorter one: one that has seen all, and one that sees the store
// for the first time. It also checks that the host uses its first slot only.
func (h *host) wants(now record.Instant, want record.Bounds) {
	h.t.Helper()
	h.used()
	for who, d := range map[string]*Directory{"who has seen all": h.Directory, "at first sight": h.fresh(now)} {
		if b := d.Bounds(now, short.member("y_1")); b != want {
			h.t.Errorf("at %v, %s: waits by %v, want %v", time.Duration(now), who, b, want)
		}
	}
}

var (
	short  = published{5 * time.Second, 10_000}
	longer = published{60 * time.Second, 20_000}
	// forLonger is how members with the shorter lease wait for one with the longer lease, and without it for nobody but
	// themselves.
	forLonger = record.Bounds{LeaseDuration: longer.lease, Drift: 0.02}
	without   = record.Bounds{Drift: 0.01}
)

// waits is how long others may wait for a member with the longer lease whose session another member has ended.
var waits = record.Instant(record.Timing{Drift: 0.01}.ObserverWait(2 * longer.lease))

// TestASlotTellsOfItsPredecessor checks rule published-before-held for a host that comes back with a shorter lease and a
// smaller drift than those of its former member. Only that member's slot tells members that join later how long it may
// still be at work. So the next session tells of it, until nobody waits for that member any more.
func TestASlotTellsOfItsPredecessor(t *testing.T) {
	h := newHost(t)
	h.starts(second, longer.member("h_1"))
	h.wants(2*second, forLonger)
	h.dies(10 * second)
	h.starts(20*second, short.member("h_2"))
	want := record.Predecessor{Config: "c60", Timings: "t60", LongestLease: 60, SessionLease: 5, DriftPPM: 20_000, For: 122}
	if got := h.used(); len(got) != 1 || got[0] != want {
		t.Errorf("the slot tells of %+v, want %+v", got, want)
	}
	h.wants(21*second, forLonger)
	h.steps(20*second + waits - 2)
	h.wants(20*second+waits-1, forLonger)
	h.steps(20*second + waits + second)
	h.wants(20*second+waits+3*second, without)
	if got := h.used(); len(got) != 0 {
		t.Errorf("in the end the slot tells of %+v", got)
	}
}

// TestASlotTellsOnAfterAnotherTake checks the same for a session that had its predecessor's configuration when it took the slot,
// and has another one since; and for one that follows it, although it left.
func TestASlotTellsOnAfterAnotherTake(t *testing.T) {
	h := newHost(t)
	h.starts(second, longer.member("h_1"))
	h.dies(10 * second)
	h.starts(20*second, longer.member("h_2"))
	h.own.Publish(short.member("h_2"))
	h.wants(21*second, forLonger) // it has not said so yet
	h.steps(21 * second)
	h.wants(22*second, forLonger)
	h.leaves(25 * second)
	h.wants(26*second, forLonger)
	h.starts(30*second, short.member("h_3"))
	h.wants(31*second, forLonger)
	h.leaves(50 * second)
	if got := h.used(); len(got) == 0 || got[0].For > 102 {
		t.Errorf("after 20 s the slot tells of %+v", got)
	}
	h.wants(51*second, forLonger)
}

// TestATakerThatLeavesStillTells checks the same for a session with its predecessor's configuration that leaves with it.
func TestATakerThatLeavesStillTells(t *testing.T) {
	h := newHost(t)
	h.starts(second, longer.member("h_1"))
	h.dies(10 * second)
	h.starts(20*second, longer.member("h_2"))
	h.leaves(25 * second)
	h.wants(26*second, forLonger)
}

// TestWhoLeftIsNoPredecessor checks that nobody waits for a member that ended its session itself, before the next one takes its
// slot or after.
func TestWhoLeftIsNoPredecessor(t *testing.T) {
	h := newHost(t)
	h.starts(second, longer.member("h_1"))
	h.leaves(10 * second)
	h.wants(11*second, record.Bounds{})
	h.starts(20*second, short.member("h_2"))
	h.wants(21*second, without)
}

// TestAnExpiredSlotTellsOfItsMember checks the same for a session that nobody had ended. From its end on, others may wait.
func TestAnExpiredSlotTellsOfItsMember(t *testing.T) {
	h := newHost(t)
	h.starts(second, longer.member("h_1"))
	h.own = NewOwn(Config{Group: "g", Host: "h", Timing: h.timing}, h.Directory, short.member("h_2"))
	h.steps(3600 * second)
	h.wants(3600*second+waits-1, forLonger)
	h.steps(3600*second + waits)
	h.wants(3600*second+waits+3*second, without)
}

// TestManyRestartsUseOneSlot checks that a host which is started again and again has one session, which tells of a predecessor
// until the time from the first to the last beat of its members is as long as that may be at work.
func TestManyRestartsUseOneSlot(t *testing.T) {
	h := newHost(t)
	h.starts(second, longer.member("h_0"))
	h.dies(10 * second)
	now := 20 * second
	for n := range 100 {
		h.starts(now, short.member(fmt.Sprintf("h_%d", n+1)))
		if n <= 6 {
			h.wants(now+second, forLonger)
		}
		h.steps(now + 10*second)
		h.steps(now + 20*second)
		h.dies(now + 21*second)
		now += 40 * second
	}
	h.starts(now, short.member("h_101"))
	h.wants(now+second, without)
}

// TestPredecessorsHaveRoom checks that a slot tells of as many predecessors as it has room for, and counts the others, too.
func TestPredecessorsHaveRoom(t *testing.T) {
	h := newHost(t)
	now := second
	for n := range 7 {
		h.starts(now, published{time.Duration(70-n) * time.Second, 10_000 + n}.member(fmt.Sprintf("h_%d", n)))
		h.dies(now + second)
		now += 2 * second
	}
	h.starts(now, short.member("h_8"))
	if got := h.used(); len(got) != record.MostPredecessors {
		t.Errorf("the slot tells of %d predecessors: %+v", len(got), got)
	}
	for n := range 7 {
		own := published{time.Duration(70-n) * time.Second, 0}.member("y_1")
		want := 70 * time.Second
		if n == 0 {
			want = 69 * time.Second // those with one's own configuration do not count
		}
		if b := h.fresh(now+second).Bounds(now+second, own); b.LeaseDuration < want || b.Drift < 0.010006 {
			t.Errorf("%d: waits by %v, want %v", n, b, want)
		}
	}
}

// TestWhoSawAPredecessorWaits checks that a member which saw a slot's former member waits for it, even if the next one does not
// tell of it: it may be of an earlier version, or a stranger may have edited the slot, or deleted it.
func TestWhoSawAPredecessorWaits(t *testing.T) {
	for how, end := range map[string]func(h *host){
		"used by another": func(h *host) {
			h.shows(20*second, h.own.Name(), NewOwn(Config{Group: "g", Host: "h", Timing: h.timing}, NewDirectory("g", h.timing), short.member("h_2")).record(0))
		},
		"deleted":       func(h *host) { h.Observe(20*second, h.own.Name(), nil, record.Version{Revision: h.revision + 1}) },
		"found deleted": func(h *host) { h.Vanished(20*second, 20*second, h.own.Name()) },
		"not listed":    func(h *host) { h.List(20*second, 20*second, h.revision+1, nil) },
		"made anew": func(h *host) {
			r := *h.slots[0].record
			h.Observe(20*second, h.own.Name(), &r, record.Version{UID: "new", Revision: h.revision + 1})
			h.Observe(21*second, h.own.Name(), nil, record.Version{Revision: h.revision + 2})
		},
	} {
		h := newHost(t)
		h.starts(second, longer.member("h_1"))
		h.dies(10 * second)
		end(h)
		if b := h.Bounds(10*second+waits-1, short.member("y_1")); b != forLonger {
			t.Errorf("%s: waits by %v, want %v", how, b, forLonger)
		}
	}
}

// TestNobodyIsNoPredecessor checks that a slot whose record tells of no member has none to tell of: a stranger may have edited it.
func TestNobodyIsNoPredecessor(t *testing.T) {
	h := newHost(t)
	h.starts(second, short.member("h_1"))
	h.dies(10 * second)
	h.slots[0].record.Member, h.slots[0].record.Mark.Duration = nil, time.Hour
	h.starts(20*second, short.member("h_2"))
	h.wants(21*second, without)
}

// TestAnEditTellsOfNoPredecessor checks rule observers-clock: what a slot says of predecessors counts beside its beat.
func TestAnEditTellsOfNoPredecessor(t *testing.T) {
	h := newHost(t)
	h.starts(second, short.member("h_1"))
	r := *h.slots[0].record
	m := *r.Member
	m.Predecessors = []record.Predecessor{{Config: "x", LongestLease: 3600, For: 7200}}
	r.Member = &m
	h.shows(2*second, h.own.Name(), r)
	if b := h.Bounds(3*second, short.member("y_1")); b != without {
		t.Errorf("waits by %v, want %v", b, without)
	}
}

// TestAMissedLifeIsTold checks that a member which missed all of the life of a slot's last owner waits for it, and for those of
// which it told: whether the slot was last seen ended, or with its former owner alive.
func TestAMissedLifeIsTold(t *testing.T) {
	for _, ended := range []bool{true, false} {
		for _, longerFirst := range []bool{true, false} {
			h := newHost(t)
			first, next := short, longer
			if longerFirst {
				first, next = longer, short
			}
			h.starts(second, first.member("h_1"))
			if ended {
				h.dies(10 * second)
			}
			y := h.fresh(12 * second)
			if !ended {
				h.dies(13 * second)
			}
			h.starts(20*second, next.member("h_2"))
			if longerFirst {
				h.leaves(22 * second)
			} else {
				h.dies(22 * second)
			}
			y.List(24*second, 24*second, h.revision, h.shown())
			if b := y.Bounds(25*second, short.member("y_1")); b != forLonger {
				t.Errorf("ended %v, longer first %v: waits by %v, want %v", ended, longerFirst, b, forLonger)
			}
		}
	}
}
