package revisions

import (
	"context"
	"errors"
)

// Read is one object of a cluster that a source reads, with list and watch.
type Read struct {
	// Group and Resource are as RBAC names them, such as "" and configmaps.
	Group, Resource string
	Name            string
	Scope           Scope
}

// Writer is what a source can be besides: one whose value we may write.
type Writer interface {
	// Write makes the source say to, if it says from or nothing. It is an error if it says
	// something else; that it says to already is none.
	Write(ctx context.Context, from, to string) error
}

// ErrNotWritable: the source is not one that we write.
var ErrNotWritable = errors.New("the default revision is not one that can be written here (change it where its source is)")

// Scope is where an object is.
type Scope int

const (
	// OfNamespace: in that of locks and sessions.
	OfNamespace Scope = iota + 1
	// OfCluster: in none.
	OfCluster
)

func (s Scope) String() string {
	switch s {
	case OfNamespace:
		return "of the namespace"
	case OfCluster:
		return "of the cluster"
	}
	return "of nothing"
}

// Reader is what a source can be besides: one that reads an object of a cluster, and so needs
// permission.
type Reader interface{ Reads() Read }
