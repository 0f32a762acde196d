package session

import (
	"maps"
	"slices"
)

// Clone returns a copy; the two share only what neither changes. Package explore clones to try several
// continuations of one state.
func (d *Directory) Clone() *Directory {
	c := *d
	c.slots = slices.Clone(d.slots) // a slot is never written to, nor is a list of predecessors
	return &c
}

// Clone returns a copy of the session; dir is the copy of its directory.
func (o *Own) Clone(dir *Directory) *Own {
	c := *o
	c.dir = dir
	c.fallen, c.sent, c.ending, c.unfit = slices.Clone(o.fallen), slices.Clone(o.sent), maps.Clone(o.ending), maps.Clone(o.unfit)
	c.deaths = slices.Clone(o.deaths)
	return &c
}
