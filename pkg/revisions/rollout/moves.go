package rollout

import "slices"

// wanted returns the elections that the canary should lead in the present step, in the order in which
// they move: first those that steps name, then the others by rank. The controller's own election is
// not among them: grow adds it last.
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

// isCanarys says whether the election needs no move: it is pinned, or the canary leads it.
func (l *look) isCanarys(e Election) bool { return e.Pinned || e.Revision == l.spec.Canary }

// follow updates which elections in reach are on their way to the canary, and reports the ones that
// have arrived.
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
		case e.Canary == "": // the wait for it begins again when a member is ready
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

// since returns when our wait begins for an election that was on its way at the last look; known is
// what that look computed. A new holder postpones it, since its own minHold begins, and so does a new
// preference, since preemptDelay starts again. So does a gap in what the controller saw of its group: in an outage of the
// API server nothing can move. A clock that was set back makes no wait longer.
func (l *look) since(e Election, known Time) Time {
	known = later(known, At(l.seen.Since))
	if e.HeldUntil.After(l.now.Time) || e.Delay > 0 {
		known = later(known, At(e.HeldUntil.Add(e.Delay)))
	}
	return earlier(known, e.overdueFrom(l.now))
}

// moving counts the elections on their way that we still wait for.
func (l *look) moving() int {
	n := 0
	for _, m := range l.st.Moving {
		if !m.late(l.spec, l.now) {
			n++
		}
	}
	return n
}

// grow brings more elections into reach, as many as may move at a time.
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
		reach.UpTo = lastRank // so that elections added later follow
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

// held says whether an election other than the controller's own holds up the step because no
// member of the canary is ready for it.
func (l *look) held() bool {
	return l.st.Phase != Promoted && l.waitsForAbsent() &&
		slices.ContainsFunc(l.lacking(), func(name string) bool { return name != l.own.Name })
}

// lacking returns the elections that the canary should lead by now but that have no ready member of
// it.
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

// tally fills in the status's figures for the present reach.
func (l *look) tally() {
	l.st.Absent, l.st.Moved = l.lacking(), 0
	for _, e := range l.all() {
		if e.Revision == l.spec.Canary && l.inReach(e) {
			l.st.Moved++
		}
	}
}

// settled says whether every election is where the present step wants it, not counting elections that
// we no longer wait for.
func (l *look) settled() bool {
	return l.waiting == 0 && l.moving() == 0 && !(l.waitsForAbsent() && len(l.st.Absent) > 0)
}

// waitsForAbsent says whether a step waits for elections without a ready member of the canary. While no member of the
// canary leads or could lead, nothing shows what the canary is worth, so then every rollout waits for them.
func (l *look) waitsForAbsent() bool {
	return l.spec.WhenPreferredAbsent == Wait || !l.canaryLives()
}

// canaryLives says whether a member of the canary would lead an election that the rollout moves, or leads one and does not leave.
// One that leaves leads until its work has stopped, but shows nothing any more. The controller's own election has no program,
// so every live member stands for it: it counts only if the rollout moves no other election.
func (l *look) canaryLives() bool {
	moved := slices.DeleteFunc(slices.Clone(l.others), func(e Election) bool { return e.Pinned })
	if len(moved) == 0 {
		moved = []Election{l.own}
	}
	return slices.ContainsFunc(moved, func(e Election) bool {
		return e.Canary != "" || e.Revision == l.spec.Canary && l.ready(e.Holder)
	})
}

// ready says whether a member lives and does not leave.
func (l *look) ready(identity string) bool {
	return slices.ContainsFunc(l.seen.Members, func(m Member) bool { return m.Identity == identity && m.Ready })
}
