package lock

// Labels of the objects that stores keep records in.
const (
	// ElectionLabel names the election; sessions have none.
	ElectionLabel = "primacy.dev/election"
	GroupLabel    = "primacy.dev/group"
	// ManagedByLabel is ManagedBy for what Primacy created. Another value is somebody else's label.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "primacy"
)
