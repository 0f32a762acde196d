package session

import (
	"maps"
	"slices"
)

// Clone is a copy that shares nothing with the directory that either of them changes. What
// explores every state goes on from one in more than one way.
func (d *Directory) Clone() *Directory {
	c := *d
	c.slots = slices.Clone(d.slots) // a slot is never written to
	return &c
}

// Clone is a copy of the session, with a copy of its directory.
func (o *Own) Clone(dir *Directory) *Own {
	c := *o
	c.dir = dir
	c.fallen, c.sent, c.ending, c.unfit = slices.Clone(o.fallen), slices.Clone(o.sent), maps.Clone(o.ending), maps.Clone(o.unfit)
	return &c
}
