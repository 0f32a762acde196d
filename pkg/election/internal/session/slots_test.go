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

func (p published) setup() record.Setup {
	return record.Setup{LongestLease: int(p.lease / time.Second), DriftPPM: p.ppm}
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
func (h *host) starts(now record.Instant, identity string, p published) {
	h.startsAs(now, record.Member{Identity: identity, Setup: p.setup()})
}

// startsAs is starts for a member of which more is given.
func (h *host) startsAs(now record.Instant, as record.Member) {
	all := make([]Shown, 0, len(h.slots))
	for _, s := range h.slots {
		all = append(all, Shown{s.name, s.record, s.version})
	}
	h.Directory = NewDirectory("g", h.timing)
	h.List(now, now, h.revision, all)
	h.own = NewOwn(Config{Group: "g", Host: "h", Timing: h.timing}, h.Directory, as)
	h.steps(now)
}

// has changes what the present member publishes.
func (h *host) has(now record.Instant, p published) {
	m := h.own.member
	m.Setup = p.setup()
	h.own.Publish(m)
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

// wants checks that the host uses its first slot only, and what that slot says.
func (h *host) wants(when string, want published) {
	h.t.Helper()
	if len(h.slots) != 1 {
		h.t.Fatalf("%s: the host has %d sessions", when, len(h.slots))
	}
	if got := h.slots[0].record.Member.Setup; got != want.setup() {
		h.t.Errorf("%s: the slot says %d s and %d ppm, want %v and %d", when, got.LongestLease, got.DriftPPM, want.lease, want.ppm)
	}
}

// owesFrom checks that the present member, whose own lease is short, publishes the longer one from then until nobody waits.
func (h *host) owesFrom(now record.Instant) {
	h.t.Helper()
	h.wants("at first", longer)
	h.steps(now + waits - 1)
	h.wants("while others still wait", longer)
	h.steps(now + waits)
	h.wants("once nobody waits", short)
}

var (
	short  = published{5 * time.Second, 10_000}
	longer = published{60 * time.Second, 20_000}
)

// waits is how long others may wait for a member with the longer lease whose session another member has ended.
var waits = record.Instant(record.Timing{Drift: 0.01}.ObserverWait(2 * longer.lease))

// TestASlotTellsOfALongerLease checks rule published-before-held for a host that comes back with a shorter lease and a
// smaller drift than those of its former member. Only that member's slot tells members that join later how long it may
// still be at work. So the next session publishes both, until nobody waits for that member any more.
func TestASlotTellsOfALongerLease(t *testing.T) {
	h := newHost(t)
	h.starts(second, "h_1", longer)
	h.wants("the former member", longer)
	h.dies(10 * second)
	h.starts(20*second, "h_2", short)
	h.owesFrom(20 * second)
}

// TestAUsedSlotStillTellsOfALongerLease checks the same for a session whose lease was as long as that of the former member, and
// is shorter now; and for one that follows it, though it left.
func TestAUsedSlotStillTellsOfALongerLease(t *testing.T) {
	h := newHost(t)
	h.starts(second, "h_1", longer)
	h.dies(10 * second)
	h.starts(20*second, "h_2", longer)
	h.has(21*second, short)
	h.wants("the next one, with shorter leases", longer)
	h.leaves(25 * second)
	h.starts(30*second, "h_3", short)
	h.wants("the third one", longer)
	h.steps(30*second + waits)
	h.wants("once nobody waits", short)
}

// TestAnExpiredSlotTellsOfALongerLease checks the same for a session that nobody had ended. From its end on, others may wait.
func TestAnExpiredSlotTellsOfALongerLease(t *testing.T) {
	h := newHost(t)
	h.starts(second, "h_1", longer)
	h.own = NewOwn(Config{Group: "g", Host: "h", Timing: h.timing}, h.Directory, record.Member{Identity: "h_2", Setup: short.setup()})
	h.steps(3600 * second)
	h.owesFrom(3600 * second)
}

// TestManyRestartsUseOneSlot checks that a host which is started again and again has one session, whatever leases its
// members have at first, and later.
func TestManyRestartsUseOneSlot(t *testing.T) {
	h := newHost(t)
	now := second
	for n := range 100 {
		h.starts(now, fmt.Sprintf("h_%d", n), short)
		h.has(now+second, longer)
		h.wants("a restart", longer)
		h.dies(now + 10*second)
		now += 20 * second
	}
	h.starts(now, "h_100", short)
	h.steps(now + waits)
	h.wants("in the end", short)
}

// TestWhatIsOwedCounts checks that members wait for what a session owes, although its configuration is theirs, and that its
// own member does. The longer lease alone would not count: as far as they know, a stranger may have edited it.
func TestWhatIsOwedCounts(t *testing.T) {
	h := newHost(t)
	own := func(identity string) record.Member {
		return record.Member{Identity: identity, Config: "short", Setup: short.setup()}
	}
	h.startsAs(second, record.Member{Identity: "h_1", Config: "longer", Setup: longer.setup()})
	h.dies(10 * second)
	h.startsAs(20*second, own("h_2"))
	meant := record.Bounds{LeaseDuration: longer.lease, Drift: 0.02}
	wants := func(when string, at record.Instant, identity string, want record.Bounds) {
		t.Helper()
		if b := h.Bounds(at, own(identity)); b != want {
			t.Errorf("%s: %s waits by %v, want %v", when, identity, b, want)
		}
	}
	wants("after the first", 21*second, "h_2", meant)
	wants("after the first", 21*second, "y_1", meant)
	h.dies(30 * second)
	h.startsAs(40*second, own("h_3"))
	wants("after the second", 41*second, "y_1", meant)
	h.leaves(45 * second)
	wants("once the third left", 46*second, "y_1", meant)
	wants("long after the third left", 45*second+waits, "y_1", record.Bounds{})
	h.startsAs(50*second, own("h_4"))
	h.steps(50*second + waits)
	wants("in the end", 50*second+waits, "h_4", record.Bounds{})
	wants("in the end", 50*second+waits, "y_1", record.Bounds{Drift: 0.01})
}

// TestWhatIsOwedCountsOnceTheConfigurationChanges checks the same for a session that had its former member's configuration when it
// took the slot, and has another one since.
func TestWhatIsOwedCountsOnceTheConfigurationChanges(t *testing.T) {
	h := newHost(t)
	was := record.Member{Identity: "h_1", Config: "longer", Setup: longer.setup()}
	h.startsAs(second, was)
	h.dies(10 * second)
	is := was
	is.Identity = "h_2"
	h.startsAs(20*second, is)
	is.Config, is.Setup = "short", short.setup()
	h.own.Publish(is)
	h.steps(21 * second)
	is.Identity = "y_1"
	if b, want := h.Bounds(22*second, is), (record.Bounds{LeaseDuration: longer.lease, Drift: 0.02}); b != want {
		t.Errorf("others wait by %v, want %v", b, want)
	}
}

// TestAnEditedLeaseIsNotOwed checks that a longer lease which only a stranger's edit gave a member of our configuration, or the
// record of no member, does not go on counting once another session uses its slot: nobody waited for it before.
func TestAnEditedLeaseIsNotOwed(t *testing.T) {
	for what, edit := range map[string]func(*record.Record){
		"of a member": func(r *record.Record) { r.Member.LongestLease = 3600 },
		"of nobody":   func(r *record.Record) { r.Member, r.Mark.Duration = nil, time.Hour },
	} {
		h := newHost(t)
		own := func(identity string) record.Member {
			return record.Member{Identity: identity, Config: "short", Setup: short.setup()}
		}
		h.startsAs(second, own("h_1"))
		h.dies(10 * second)
		edit(h.slots[0].record)
		h.startsAs(20*second, own("h_2"))
		if b, want := h.Bounds(21*second, own("y_1")), (record.Bounds{Drift: 0.01}); b != want {
			t.Errorf("%s: others wait by %v, want %v", what, b, want)
		}
	}
}
