package revisions

// Read is one object of a cluster that a source reads, with list and watch.
type Read struct {
	// Group and Resource are as RBAC names them, such as "" and configmaps.
	Group, Resource string
	Name            string
	Scope           Scope
}

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
