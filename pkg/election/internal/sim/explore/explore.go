package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// Result is what an exploration found.
type Result struct {
	Name string
	// States and Transitions count what was found; Depth is how many moves away the farthest state is.
	States, Transitions, Depth int
	// Closed: nothing that can happen was left out.
	Closed bool
	Took   time.Duration
	// Wrong is the violation; Path leads to it by the fewest moves.
	Wrong string
	Path  string
	// Moves is how many moves Path has.
	Moves int
	// Leaderless is the most ticks without a leader while a member is healthy and nothing more goes
	// wrong.
	Leaderless int
	// Worst is the path, by the fewest moves, to the end of the longest time without a leader.
	Worst string
	// Confirmed is how many merged worlds were examined.
	Confirmed int
	// Suffered counts the transitions that were faults.
	Suffered map[Fault]int
}

func (r Result) String() string {
	closed := "closed"
	if !r.Closed {
		closed = "NOT closed"
	}
	return fmt.Sprintf("%s: %d states, %d transitions, depth %d, %s, without a leader for at most %d ticks, %d merged states confirmed, %v",
		r.Name, r.States, r.Transitions, r.Depth, closed, r.Leaderless, r.Confirmed, r.Took.Round(10*time.Millisecond))
}

// explorer is one exploration under way.
type explorer struct {
	options Options
	canon   *canon
	// election is the only election; all members take part in it.
	election *member.Election
	known    map[key]uint32
	// For each state: the state that first led to it, by which move, its traits, and where its transitions
	// begin among edges.
	parents []uint32
	by      []move
	traits  []trait
	starts  []uint32
	edges   []uint32
	merged  []merged
	result  Result
}

// trait is what the judges of liveness need to know of a state.
type trait uint8

const (
	led trait = 1 << iota
	someHealthy
)

// aTick marks a transition in which time passes.
const aTick = 1 << 31

// merged is a world whose form equals that of a known state.
type merged struct {
	world *world
	as    uint32
}

// Explore visits every state that the world can get into, the nearest first, and judges it. It ends at
// the first violation.
func Explore(o Options) Result {
	began := time.Now()
	x := newExplorer(o)
	x.search()
	x.result.States, x.result.Transitions = len(x.parents), len(x.edges)
	if x.result.Wrong == "" && x.result.Closed {
		x.judgeGraph()
	}
	if x.result.Wrong == "" && x.result.Closed {
		x.confirm()
	}
	x.result.Took = time.Since(began)
	return x.result
}

func newExplorer(o Options) *explorer {
	if o.Beats == 0 {
		o.Beats = Quiet
	}
	locks := member.Own
	if o.Renewal != record.RenewalSession {
		locks = member.Store{ID: 1, ByName: true, Objects: 1}
	}
	return &explorer{
		options: o, canon: newCanon(o.Timing, o.Renewal), known: map[key]uint32{}, result: Result{Name: o.Name, Suffered: map[Fault]int{}},
		election: &member.Election{
			ID: electionID, Name: election, Lock: election, Locks: locks, Works: true,
			Settings: &member.Settings{Timing: o.Timing, Policy: priority.RevisionLocation{}, Bootstrap: machine.BootstrapWait, Renewal: o.Renewal},
		},
	}
}

func (x *explorer) search() {
	first := x.first()
	if first.wrong != "" {
		x.result.Wrong = first.wrong
		return
	}
	x.visit(first, 0, move{})
	layer := []*world{first}
	var moves []move
	for at := uint32(0); len(layer) > 0; x.result.Depth++ {
		var next []*world
		for n, w := range layer {
			layer[n] = nil
			x.starts = append(x.starts, uint32(len(x.edges))) // #nosec G115 -- memory is smaller
			moves = w.moves(moves)
			if len(moves) == 0 {
				x.found(at, nil, "nothing can happen any more")
				return
			}
			for _, mv := range moves {
				after := w.apply(mv)
				if mv.kind > fault {
					x.result.Suffered[Fault(mv.kind-fault)]++
				}
				if after.wrong != "" {
					x.found(at, &mv, after.wrong)
					return
				}
				to, fresh := x.visit(after, at, mv)
				if fresh {
					next = append(next, after)
				} else if x.sampled() {
					x.merged = append(x.merged, merged{after, to})
				}
				if mv.kind <= clockCatches {
					to |= aTick
				}
				x.edges = append(x.edges, to)
			}
			at++
			if x.options.MaxStates > 0 && len(x.parents) > x.options.MaxStates {
				return
			}
		}
		layer = next
	}

	x.starts = append(x.starts, uint32(len(x.edges))) // #nosec G115 -- memory is smaller
	x.result.Closed = true
}

// visit looks a world up, and stores it if it is new.
func (x *explorer) visit(w *world, from uint32, by move) (state uint32, fresh bool) {
	k := x.canon.key(w)
	if state, ok := x.known[k]; ok {
		return state, false
	}
	state = uint32(len(x.parents)) // #nosec G115 -- memory is smaller
	x.known[k] = state
	x.parents, x.by = append(x.parents, from), append(x.by, by)
	var t trait
	for _, m := range w.procs {
		if m.leads() {
			t |= led
		}
		if m.healthy() {
			t |= someHealthy
		}
	}
	x.traits = append(x.traits, t)
	return state, true
}

// sampled picks merged worlds evenly, at first more densely than needed.
func (x *explorer) sampled() bool {
	every := 1 + len(x.edges)/max(1, x.options.Confirm)
	return x.options.Confirm > 0 && len(x.edges)%every == 0 && len(x.merged) < 4*x.options.Confirm
}

func (x *explorer) found(at uint32, last *move, wrong string) {
	x.result.Wrong = wrong
	x.result.Path, x.result.Moves = x.path(at, last)
}

// path tells how to reach a state, and by how many moves.
func (x *explorer) path(at uint32, last *move) (string, int) {
	var moves []move
	for s := at; s != 0; s = x.parents[s] {
		moves = append(moves, x.by[s])
	}
	slices.Reverse(moves)
	if last != nil {
		moves = append(moves, *last)
	}
	var text strings.Builder
	w := x.first()
	w.trace = &trace{out: &text}
	for n, mv := range moves {
		w.trace.number = n + 1
		w = w.apply(mv)
	}
	return text.String(), len(moves)
}

// first is the initial world.
func (x *explorer) first() *world { return newWorld(x) }

// confirm examines merged worlds: such a world and the state that it was merged with must lead to the same
// states.
func (x *explorer) confirm() {
	var moves []move
	for _, g := range x.merged {
		edges := x.edges[x.starts[g.as]:x.starts[g.as+1]]
		moves = g.world.moves(moves)
		if len(moves) != len(edges) {
			x.result.Wrong = fmt.Sprintf("the canonical form is wrong: state %d has %d transitions, but a world merged into it has %d", g.as, len(edges), len(moves))
			x.result.Path, x.result.Moves = x.path(g.as, nil)
			return
		}
		for n, mv := range moves {
			after := g.world.apply(mv)
			to, ok := x.known[x.canon.key(after)]
			if after.wrong != "" || !ok || to != edges[n]&^aTick {
				x.result.Wrong = fmt.Sprintf("the canonical form is wrong: from state %d, %q leads to %d, but from a world merged into it to %d (known: %v) %s", g.as, mv, edges[n]&^aTick, to, ok, after.wrong)
				x.result.Path, x.result.Moves = x.path(g.as, &mv)
				return
			}
		}
		x.result.Confirmed++
	}
	x.merged = nil
}
