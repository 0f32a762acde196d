package member

import (
	"maps"
	"slices"
)

// Clone returns a copy that continues as the Member would. The two share Config.Chance; apart from that,
// neither changes what the other sees. Package explore clones a Member to try several continuations of one
// state.
func (m *Member) Clone() *Member {
	c := *m
	c.out.list, c.room = nil, nil // m.out.list is still the caller's, and m's next Step writes to m.room
	c.log.to = &c.out
	copies := copied{of: c.contestsOf(m), to: &c}

	c.queue.lanes = make([]*lane, len(m.queue.lanes))
	for i, l := range m.queue.lanes {
		c.queue.lanes[i] = l.clone(copies)
	}
	c.asked = make(map[uint64]asked, len(m.asked))
	for id, a := range m.asked {
		c.asked[id] = copies.asked(a)
	}
	c.timers = copies.list(m.timers)
	c.streams = make([]*stream, len(m.streams))
	for i, s := range m.streams {
		c.streams[i] = s.clone(copies)
	}
	c.going, c.lowered = copies.set(&m.going), copies.set(&m.lowered)
	c.heedful, c.unpublished = copies.set(&m.heedful), copies.set(&m.unpublished)
	c.unready, c.dimmed = copies.set(&m.unready), copies.set(&m.dimmed)
	c.lacks = make(map[*contest]string, len(m.lacks))
	for one, why := range m.lacks {
		c.lacks[copies.of[one]] = why
	}
	c.open = make(map[*contest]bool, len(m.open))
	for one, on := range m.open {
		c.open[copies.of[one]] = on
	}
	c.sendings = make(map[*contest][]sending, len(m.sendings))
	for one, sent := range m.sendings {
		c.sendings[copies.of[one]] = slices.Clone(sent)
	}
	c.postponed = nil
	for _, e := range m.postponed {
		c.postponed = append(c.postponed, e.clone())
	}
	c.setup.leases = maps.Clone(m.setup.leases)
	c.created.elections = slices.Clone(m.created.elections)
	c.setup.places = maps.Clone(m.setup.places)
	c.unlike.known = slices.Clone(m.unlike.known)
	c.gone, c.disowned = maps.Clone(m.gone), maps.Clone(m.disowned)
	c.unshown, c.stores = maps.Clone(m.unshown), slices.Clone(m.stores)
	c.untold, c.handed = slices.Clone(m.untold), maps.Clone(m.handed)
	c.heard, c.unheardOf = maps.Clone(m.heard), maps.Clone(m.unheardOf)
	c.dir = m.dir.Clone()
	c.own = m.own.Clone(c.dir)
	c.trouble = m.trouble.clone(c.log)
	return &c
}

// copied maps contests to their copies; to is the Member to which the copies belong.
type copied struct {
	of map[*contest]*contest
	to *Member
}

// contestsOf gives m copies of another Member's contests, and returns the copy of each. It also copies
// contests that are over: a request of theirs may still be waiting for its answer.
func (m *Member) contestsOf(of *Member) map[*contest]*contest {
	copies := make(map[*contest]*contest, len(of.contests.all))
	var add func(c *contest) *contest
	add = func(c *contest) *contest {
		if c == nil || copies[c] != nil {
			return copies[c]
		}
		to := *c
		copies[c] = &to
		to.m, to.election = m, c.election.clone()
		to.outer, to.inner = add(c.outer), add(c.inner)
		if c.waiting != nil {
			waits := *c.waiting
			to.waiting = &waits
		}
		if to.outer != nil {
			to.outer.election = to.election
		}
		return &to
	}
	m.contests = contests{of: make(map[ID]*contest, len(of.contests.of))}
	for _, c := range of.contests.all {
		m.contests.all = append(m.contests.all, add(c))
	}
	for id, c := range of.contests.of {
		m.contests.of[id] = add(c)
	}
	for _, a := range of.asked {
		add(a.contest)
	}
	for _, l := range of.queue.lanes {
		for _, queue := range l.queues {
			for _, a := range queue {
				add(a.contest)
			}
		}
	}
	return copies
}

func (c copied) list(all []*contest) []*contest {
	if all == nil {
		return nil
	}
	list := make([]*contest, len(all))
	for i, one := range all {
		list[i] = c.of[one]
	}
	return list
}

func (c copied) set(s *set[*contest]) set[*contest] {
	var to set[*contest]
	for _, one := range s.list {
		to.add(c.of[one])
	}
	return to
}

func (c copied) asked(a asked) asked {
	if a.contest != nil {
		a.contest = c.of[a.contest]
	}
	return a
}

func (l *lane) clone(c copied) *lane {
	to := *l
	for class, queue := range l.queues {
		to.queues[class] = nil
		for _, a := range queue {
			to.queues[class] = append(to.queues[class], c.asked(a))
		}
	}
	return &to
}

func (s *stream) clone(c copied) *stream {
	to := *s
	to.absences = s.absences.clone()
	to.byLock = make(map[string]*contest, len(s.byLock))
	for name, one := range s.byLock {
		to.byLock[name] = c.of[one]
	}
	return &to
}

// clone returns the election itself, which does not change, unless it has Ranges, which do.
func (e *Election) clone() *Election {
	if e.Ranges == nil {
		return e
	}
	to, ranges := *e, *e.Ranges
	to.Ranges = &ranges
	return &to
}

func (t *troubles) clone(log logger) troubles {
	to := troubles{log: log}
	for of, is := range t.of {
		if to.of == nil {
			to.of = make(map[operation]*trouble, len(t.of))
		}
		to.of[of] = &trouble{
			failing: maps.Clone(is.failing), concerned: maps.Clone(is.concerned), told: maps.Clone(is.told), summary: is.summary,
		}
	}
	return to
}
