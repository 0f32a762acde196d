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

// Writer is a second, optional interface of a source: its value can be written here.
type Writer interface {
	// Write changes the source's value to "to" if it is "from" or empty. It does nothing if the
	// value is "to" already, and returns an error for any other value.
	Write(ctx context.Context, from, to string) error
}

// ErrNotWritable: the source cannot be written here.
var ErrNotWritable = errors.New("the source of the default revision cannot be written from here (change the revision at the source)")

// Scope says whether an object belongs to a namespace.
type Scope int

const (
	// OfNamespace: the object is in the namespace of locks and sessions.
	OfNamespace Scope = iota + 1
	// OfCluster: the object is in no namespace.
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

// Reader is a second, optional interface of a source: it reads an object of a cluster, and so
// needs permission.
type Reader interface{ Reads() Read }
