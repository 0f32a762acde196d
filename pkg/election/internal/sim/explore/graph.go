package explore

// judgeGraph judges the whole graph: time always passes; and from any state with a healthy member some member
// leads again after a bounded time, whatever the order of events, as long as nothing more goes wrong.
//
// A fault spends some of the budget and heals at most once, so no cycle contains one: a cycle without a
// leader would be a livelock under steady conditions.
func (x *explorer) judgeGraph() {
	all := func(uint32) bool { return true }
	if s, _, ok := x.longest(all, func(edge uint32) bool { return edge&aTick == 0 }); !ok {
		x.found(s, nil, "something can go on for ever without time passing")
		return
	}
	waiting := func(s uint32) bool { return x.traits[s]&led == 0 && x.traits[s]&someHealthy != 0 }
	s, most, ok := x.longest(waiting, func(uint32) bool { return true })
	if !ok {
		x.found(s, nil, "from here there may never be a leader again, although a member is healthy")
		return
	}
	x.result.Leaderless = most
	if most > 0 {
		x.result.Worst, _ = x.path(s, nil)
	}
}

// longest is the greatest number of ticks on any path through the states in and the edges through. If there
// are cycles, ok is false, and a cycle can be reached from state.
func (x *explorer) longest(in func(uint32) bool, through func(uint32) bool) (state uint32, most int, ok bool) {
	n := uint32(len(x.parents)) // #nosec G115 -- memory is smaller
	into := make([]uint32, n)
	each := func(s uint32, f func(to, passed uint32)) {
		for _, e := range x.edges[x.starts[s]:x.starts[s+1]] {
			if to := e &^ aTick; through(e) && in(to) {
				f(to, e>>31)
			}
		}
	}
	for s := range n {
		if in(s) {
			each(s, func(to, _ uint32) { into[to]++ })
		}
	}
	var ready []uint32
	left := 0
	for s := range n {
		if in(s) {
			left++
			if into[s] == 0 {
				ready = append(ready, s)
			}
		}
	}
	reach := make([]uint32, n)
	for len(ready) > 0 {
		s := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		left--
		if int(reach[s]) > most {
			state, most = s, int(reach[s])
		}
		each(s, func(to, passed uint32) {
			reach[to] = max(reach[to], reach[s]+passed)
			if into[to]--; into[to] == 0 {
				ready = append(ready, to)
			}
		})
	}
	if left == 0 {
		return state, most, true
	}
	return onCycle(n, func(s uint32) bool { return in(s) && into[s] > 0 }, each), most, false
}

// onCycle is the first of the n states from which a path can go on for ever within the set among.
func onCycle(n uint32, among func(uint32) bool, each func(uint32, func(to, passed uint32))) uint32 {
	on := make([]bool, n)
	for s := range n {
		on[s] = among(s)
	}
	for changed := true; changed; {
		changed = false
		for s := n; s > 0; {
			s--
			stays := false
			each(s, func(to, _ uint32) { stays = stays || on[to] })
			if on[s] && !stays {
				on[s], changed = false, true
			}
		}
	}
	for s := range n {
		if on[s] {
			return s
		}
	}
	panic("explore: a cycle that is none")
}
