package member

// contests are all that an incarnation takes part in; of a migration, only the inner one. They
// are iterated in a slice's order, for cache locality: there may be thousands.
type contests struct {
	of  map[ID]*contest
	all []*contest
}

func (cs *contests) add(c *contest) {
	c.place = int32(len(cs.all)) // #nosec G115 -- as many as there are elections
	cs.of[c.election.ID] = c
	cs.all = append(cs.all, c)
}

// remove removes the contest of c's election; the last one takes its place.
func (cs *contests) remove(c *contest) {
	c, end := cs.of[c.election.ID], len(cs.all)-1
	last := cs.all[end]
	cs.all[c.place], last.place = last, c.place
	cs.all[end] = nil
	cs.all = cs.all[:end]
	delete(cs.of, c.election.ID)
}

func (cs *contests) clear() {
	clear(cs.of)
	cs.all = nil
}

// each calls f for all contests; in a migration, for the outer one first.
func (cs *contests) each(f func(*contest)) {
	for _, c := range cs.all {
		c.each(f)
	}
}
