package rollout

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

const own = "rollout-edge"

type failing interface {
	Helper()
	Fatalf(string, ...any)
}

// world is a group as a controller sees it, with its ConfigMap. Members obey what is stored; for
// every election a member of stable is ready.
type world struct {
	t         failing
	now       time.Time
	plan      Plan // as stored
	byDefault record.Preferred
	leads     map[string]string // by election, the revision that leads
	ready     map[string]bool   // by election, whether a member of the canary is ready
	stays     bool              // the member of the canary does not leave, though its work may be ready for no election
	failures  []Failure
	divided   []string
	out       Next
	did       []string // events that no test has looked at yet
}

// elections returns the names of n elections and of the controller's own.
func elections(n int) []string {
	names := []string{own}
	for i := range n {
		names = append(names, fmt.Sprintf("e%d", i))
	}
	return names
}

func newWorld(t failing, n int, spec Spec) *world {
	w := &world{t: t, now: start, byDefault: record.Prefer("red"), leads: map[string]string{}, ready: map[string]bool{}}
	for _, name := range elections(n) {
		w.leads[name], w.ready[name] = "red", true
	}
	w.say(func(p Plan) (Plan, error) { return p.Start(spec, w.now) })
	return w
}

func (w *world) say(word func(Plan) (Plan, error)) {
	w.t.Helper()
	p, err := word(w.plan)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	w.store(p)
}

// store writes a plan and reads it back.
func (w *world) store(p Plan) {
	w.t.Helper()
	data, err := p.Encode()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	if w.plan, err = Read(data, Plan{}); err != nil {
		w.t.Fatalf("%v", err)
	}
}

func (w *world) seen() Seen {
	s := Seen{Own: own, Failures: w.failures, Default: w.byDefault, Divided: w.divided}
	for _, name := range slices.Sorted(maps.Keys(w.leads)) {
		e := Election{Name: name}
		if e.Revision = w.leads[name]; e.Revision != "" {
			e.Holder = e.Revision + "-0_00000001"
		}
		if w.ready[name] {
			e.Canary = "green-0_00000001"
		}
		_, e.Pinned = w.plan.Pin(name)
		s.Elections = append(s.Elections, e)
	}
	if leads := slices.Contains(slices.Collect(maps.Values(w.leads)), "green"); leads || w.stays || w.anyReady() {
		s.Members = append(s.Members, Member{Identity: "green-0_00000001", Revision: "green", Ready: w.stays || w.anyReady()})
	}
	return s
}

// anyReady says whether a member of the canary is ready.
func (w *world) anyReady() bool { return slices.Contains(slices.Collect(maps.Values(w.ready)), true) }

// look lets the controller look once and write what follows.
func (w *world) look() Phase {
	w.t.Helper()
	seen := w.seen()
	w.out = Advance(*w.plan.Rollout, w.plan.Status, seen, w.now)
	again := Advance(*w.plan.Rollout, &w.out.Status, seen, w.now)
	if !reflect.DeepEqual(again.Status, w.out.Status) {
		w.t.Fatalf("a second look at the same makes of\n%+v\n%+v", w.out.Status, again.Status)
	}
	if !w.out.Wake.IsZero() && !w.out.Wake.After(w.now) {
		w.t.Fatalf("at %v it wants to be woken at %v", w.now, w.out.Wake)
	}
	for _, e := range w.out.Events {
		w.did = append(w.did, e.Kind.String())
	}
	p := w.plan
	p.Status = &w.out.Status
	w.store(p)
	return w.plan.Status.Phase
}

// obey lets members move elections to what they prefer.
func (w *world) obey() {
	for name := range w.leads {
		switch preferred := w.plan.Preferred(name, w.byDefault).Revision; {
		case preferred == "green" && !w.ready[name] && w.leads[name] == "":
			w.leads[name] = "red"
		case preferred == "green" && !w.ready[name]:
		default:
			w.leads[name] = preferred
		}
	}
}

// round is one look and then the members' moves; a second passes.
func (w *world) round() Phase {
	w.t.Helper()
	w.look()
	w.obey()
	w.now = w.now.Add(time.Second)
	return w.look()
}

// canarys returns the elections that prefer the canary.
func (w *world) canarys() []string {
	var names []string
	for name := range w.leads {
		if w.plan.Preferred(name, w.byDefault).Revision == "green" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (w *world) want(phase Phase, step, canarys int) {
	w.t.Helper()
	if got := w.plan.Status; got.Phase != phase || got.Step != step || len(w.canarys()) != canarys {
		w.t.Fatalf("%s, step %d, canary's %v; want %s, step %d, %d of them\n%+v", got.Phase, got.Step, w.canarys(), phase, step, canarys, *got)
	}
}
