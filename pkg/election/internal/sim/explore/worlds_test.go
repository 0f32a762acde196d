package explore

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// brief are the faults that do not last: nothing stays cut off, stopped or dead.
func brief() []Fault {
	return []Fault{StrayWrite, SlowWrite, LostReply, LostRead, RefusedWrite, Break, Delete, Blank, Edit, Fail}
}

// unhurried is the timing for requests that take up to a tick: a nominee needs one tick to hear that the
// lock is free, and one to take it.
func unhurried() record.Timing {
	t := Tiny()
	t.NominateDelay, t.MinHold = 2*tick, tick
	return t
}

// drifting is the timing for clocks that differ by a tick in four.
func drifting() record.Timing {
	t := Tiny()
	t.Drift = 0.25
	return t
}

// patient is the timing of members that do not move at once.
func patient() record.Timing {
	t := Tiny()
	t.MinHold, t.PreemptDelay = tick, tick
	return t
}

// beating is the timing of worlds with sessions: a member that failed is soon trusted again.
func beating() record.Timing {
	t := Tiny()
	t.StandDown = tick / 32
	return t
}

// beats completes a world of two members whose sessions renew the lock.
func beats(name string, o Options) Options {
	o.Name = "2 members, sessions, " + name
	o.Members, o.Timing, o.Renewal = 2, beating(), record.RenewalSession
	return o
}

// lapses are the faults of a settled world with sessions, except a stall. Faults of writes to the lock are
// missing: such a world begins without such writes.
func lapses() []Fault {
	return []Fault{Crash, Cut, Pause, StrayBeat, LostBeatReply, Break, Delete, DeleteSession, Edit, Flip, Resign}
}

// small worlds close in no time, even under the race detector.
var small = []Options{
	{Name: "2 members, no fault", Members: 2, Timing: Tiny()},
	{Name: "2 members, delayed moves, no fault", Members: 2, Timing: patient()},
	{Name: "3 members, no fault", Members: 3, Timing: Tiny()},
	beats("no fault", Options{Beats: Prompt}),
	{Name: "2 members, 1 deletion or flip", Members: 2, Timing: Tiny(), Faults: []Fault{Delete, Flip}, Budget: 1},
}

var worlds = []Options{
	{Name: "2 members, 1 fault of any kind", Members: 2, Timing: Tiny(), Faults: AllFaults(), Budget: 1},
	{Name: "2 members, 2 of the worst brief faults", Members: 2, Timing: Tiny(), Faults: []Fault{StrayWrite, LostReply, Break, Delete, Blank}, Budget: 2},
	{Name: "2 members, clocks differ, 1 brief fault", Members: 2, Timing: drifting(), Clocks: LastLags, Faults: brief(), Budget: 1},
	{Name: "2 members, slow requests", Members: 2, Timing: unhurried(), Lag: 1},
	{Name: "3 members, 1 stray write, deletion or blank", Members: 3, Timing: Tiny(), Faults: []Fault{StrayWrite, Delete, Blank}, Budget: 1},
	beats("no fault, any order", Options{Beats: Loose}),
	beats("1 fault", Options{Beats: Prompt, Start: Settled, Faults: lapses(), Budget: 1}),
	beats("1 stall", Options{Beats: Prompt, Start: Settled, Faults: []Fault{Stall}, Budget: 1}),
}

// large worlds take minutes or more, and gigabytes.
var large = []Options{
	{Name: "2 members, 2 brief faults", Members: 2, Timing: Tiny(), Faults: brief(), Budget: 2},
	{Name: "2 members, 3 brief faults", Members: 2, Timing: Tiny(), Faults: []Fault{StrayWrite, LostReply, Break, Delete, Blank, Edit}, Budget: 3},
	{Name: "2 members, 2 faults: stray, crash, delete", Members: 2, Timing: Tiny(), Faults: []Fault{StrayWrite, Crash, Delete}, Budget: 2},
	{Name: "2 members, 2 faults: stray, cut, delete", Members: 2, Timing: Tiny(), Faults: []Fault{StrayWrite, Cut, Delete}, Budget: 2},
	{Name: "2 members, 2 faults: stray, stall, delete", Members: 2, Timing: Tiny(), Faults: []Fault{StrayWrite, Stall, Delete}, Budget: 2},
	{Name: "2 members, delayed moves, 1 fault of any kind", Members: 2, Timing: patient(), Faults: AllFaults(), Budget: 1},
	{Name: "2 members, clocks differ, 1 fault of any kind", Members: 2, Timing: drifting(), Clocks: LastLags, Faults: AllFaults(), Budget: 1},
	{Name: "3 members, 1 brief fault", Members: 3, Timing: Tiny(), Faults: brief(), Budget: 1},
	beats("1 stray or lost write while they begin", Options{Beats: Prompt, Faults: []Fault{StrayWrite, LostReply, StrayBeat, LostBeatReply}, Budget: 1}),
	beats("1 stray beat or death, any order", Options{Beats: Loose, Start: Settled, Faults: []Fault{StrayBeat, Crash}, Budget: 1}),
	beats("2 faults: stray beat, deleted session", Options{Beats: Prompt, Start: Settled, Faults: []Fault{StrayBeat, DeleteSession}, Budget: 2}),
}

// TestWorldsClose explores each world until nothing new happens in it. PRIMACY_EXPLORE=large adds the
// worlds that take long.
func TestWorldsClose(t *testing.T) {
	before := debug.SetGCPercent(400)
	t.Cleanup(func() { debug.SetGCPercent(before) }) // after all worlds: they run beside each other
	list := small
	if !raceDetector && !testing.Short() {
		list = append(list[:len(list):len(list)], worlds...)
	}
	if os.Getenv("PRIMACY_EXPLORE") == "large" {
		list = append(list[:len(list):len(list)], large...)
	}
	for _, o := range list {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			o.Confirm = 2000
			r := Explore(o)
			t.Log(r)
			if r.Wrong != "" {
				t.Fatalf("%s\n%s", r.Wrong, r.Path)
			}
			if !r.Closed {
				t.Error("the world has not closed")
			}
			for _, f := range o.Faults {
				if r.Suffered[f] == 0 {
					t.Errorf("there was no %v", f)
				}
			}
			if r.Leaderless == 0 || r.Leaderless > 16 {
				t.Errorf("without a leader for %d ticks:\n%s", r.Leaderless, r.Worst)
			}
			if r.Confirmed == 0 {
				t.Error("the canonical form was not put to the test")
			}
		})
	}
}
