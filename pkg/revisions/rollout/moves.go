package rollout

import "slices"

// wanted are the elections that should be the canary's in the present step, in the order in
// which they come: those that steps name, then by rank. The controller's own is not among
// them: see grow.
func (l *look) wanted() (named, weighed []Election) {
	weight := 0
	for i, step := range l.spec.Steps {
		if i >= l.st.Step {
			break
		}
		weight = max(weight, step.SetWeight)
		for _, name := range step.Elections {
			if at := slices.IndexFunc(l.others, func(e Election) bool { return e.Name == name }); at >= 0 {
				named = append(named, l.others[at])
			}
		}
	}
	if l.step().SetWeight == 100 {
		weight = 100
	}
	return named, l.others[:min(targets(len(l.others), weight), len(l.others))]
}

func (l *look) inReach(e Election) bool { return l.st.Reach.Has(l.spec.UID, e.Name) }

// isCanarys says whether nothing is to be done for the election to be the canary's.
func (l *look) isCanarys(e Election) bool { return e.Pinned || e.Revision == l.spec.Canary }

// follow takes in where the elections in reach are by now.
func (l *look) follow() {
	before := l.st.Moving
	l.st.Moving = nil
	var acquired []string
	for _, e := range l.all() {
		if !l.inReach(e) {
			continue
		}
		at := slices.IndexFunc(before, func(m Moving) bool { return m.Election == e.Name })
		switch {
		case l.isCanarys(e):
			if at >= 0 {
				acquired = append(acquired, e.Name)
			}
		case e.Canary == "": // its time begins anew with the next member that is ready
		case at >= 0:
			l.st.Moving = append(l.st.Moving, Moving{e.Name, l.since(e, before[at].Since)})
		default:
			l.st.Moving = append(l.st.Moving, Moving{e.Name, e.overdueFrom(l.now)})
		}
	}
	if acquired != nil {
		l.tell(Event{Kind: Acquired, Elections: acquired})
	}
}

// since is when the wait for an election begins that was on its way at the last look, and waited
// for since the instant known. It moves on with another holder, which keeps its own minHold, and
// with another preference, since preemptDelay counts anew. A clock that was set back makes no
// wait longer.
func (l *look) since(e Election, known Time) Time {
	if e.HeldUntil.After(l.now.Time) || e.Delay > 0 {
		known = later(known, At(e.HeldUntil.Add(e.Delay)))
	}
	return earlier(known, e.overdueFrom(l.now))
}

// moving counts the elections on their way that are waited for.
func (l *look) moving() int {
	n := 0
	for _, m := range l.st.Moving {
		if !m.late(l.spec, l.now) {
			n++
		}
	}
	return n
}

// grow brings as many elections into reach as may move at a time.
func (l *look) grow() {
	slots := l.spec.MaxConcurrentMoves - l.moving()
	l.waiting = 0
	in := map[string]bool{}
	for _, e := range l.all() {
		in[e.Name] = l.inReach(e)
	}
	var reached []string
	take := func(e Election) bool {
		switch {
		case in[e.Name]:
			return false
		case l.isCanarys(e):
		case e.Canary == "":
			return false
		case slots <= 0:
			l.waiting++
			return false
		default:
			slots--
			l.st.Moving = append(l.st.Moving, Moving{e.Name, e.overdueFrom(l.now)})
		}
		in[e.Name] = true
		reached = append(reached, e.Name)
		return true
	}
	reach := &l.st.Reach
	named, weighed := l.wanted()
	for _, e := range named {
		if take(e) {
			reach.Names = append(reach.Names, e.Name)
		}
	}
	reach.Names = slices.Compact(slices.Sorted(slices.Values(reach.Names)))
	for _, e := range weighed {
		if take(e) {
			reach.UpTo = max(reach.UpTo, RankOf(l.spec.UID, e.Name))
		}
	}
	if l.final() && l.waiting == 0 {
		reach.UpTo = lastRank // so that elections which are added follow
		if l.moving() > 0 || l.held() {
			if !in[l.own.Name] {
				l.waiting++
			}
		} else {
			take(l.own)
		}
	}
	reach.Except = nil
	for _, e := range l.all() {
		if !in[e.Name] && RankOf(l.spec.UID, e.Name) <= reach.UpTo {
			reach.Except = append(reach.Except, e.Name)
		}
	}
	slices.Sort(reach.Except)
	l.tally()
	if reached != nil {
		l.tell(Event{Kind: Reached, Elections: reached})
	}
}

// held says whether an election but the controller's own holds up the step because no member
// of the canary is ready for it.
func (l *look) held() bool {
	return l.st.Phase != Promoted && l.spec.WhenPreferredAbsent == Wait &&
		slices.ContainsFunc(l.lacking(), func(name string) bool { return name != l.own.Name })
}

// lacking are the elections that should be the canary's by now and have no member of it that
// is ready.
func (l *look) lacking() []string {
	concern := map[string]bool{}
	named, weighed := l.wanted()
	for _, e := range slices.Concat(named, weighed) {
		concern[e.Name] = true
	}
	concern[l.own.Name] = l.final()
	var names []string
	for _, e := range l.all() {
		if (concern[e.Name] || l.inReach(e)) && !l.isCanarys(e) && e.Canary == "" {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names
}

// tally counts what the status says of the present reach.
func (l *look) tally() {
	l.st.Absent, l.st.Moved = l.lacking(), 0
	for _, e := range l.all() {
		if e.Revision == l.spec.Canary && l.inReach(e) {
			l.st.Moved++
		}
	}
}

// settled says whether everything is where the present step wants it, but for what is waited
// for no longer. While no member of the canary is there at all nothing shows what it is worth,
// so whatever lacks one is waited for.
func (l *look) settled() bool {
	waits := l.spec.WhenPreferredAbsent == Wait || !l.canaryLives()
	return l.waiting == 0 && l.moving() == 0 && !(waits && len(l.st.Absent) > 0)
}

// canaryLives says whether a member of the canary leads something, or would.
func (l *look) canaryLives() bool {
	return slices.ContainsFunc(l.all(), func(e Election) bool { return e.Canary != "" || e.Revision == l.spec.Canary })
}
