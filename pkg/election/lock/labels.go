package lock

// Labels of the objects that stores keep records in.
const (
	// ElectionLabel names the election; sessions have none.
	ElectionLabel = "primacy.dev/election"
	GroupLabel    = "primacy.dev/group"
	// ManagedByLabel has the value ManagedBy on objects that Primacy created. Another value is a stranger's.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "primacy"
)
