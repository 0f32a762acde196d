package config

// Change is what differs between two configurations.
type Change struct {
	// Process: group, namespace, member, session timing or metrics differ. They belong to an
	// incarnation of the process and take effect with the next one.
	Process bool
	// DefaultRevision: the source of the preferred revision differs.
	DefaultRevision bool
	// Added, Removed and Changed name elections; all others mean what they meant.
	Added, Removed, Changed []string
}

// None says that the two mean the same.
func (c Change) None() bool {
	return !c.Process && !c.DefaultRevision && len(c.Added)+len(c.Removed)+len(c.Changed) == 0
}

// Compare says what is different in the second configuration.
func Compare(before, after *Configuration) Change {
	change := Change{
		Process: before.Group != after.Group || before.Namespace != after.Namespace ||
			before.Member != after.Member || before.Timing != after.Timing || before.Metrics != after.Metrics,
		DefaultRevision: before.DefaultRevision.Digest() != after.DefaultRevision.Digest(),
	}
	old := make(map[string]string, len(before.Elections))
	for _, e := range before.Elections {
		old[e.Name] = e.Digest()
	}
	for _, e := range after.Elections {
		switch digest, known := old[e.Name]; {
		case !known:
			change.Added = append(change.Added, e.Name)
		case digest != e.Digest():
			change.Changed = append(change.Changed, e.Name)
		}
		delete(old, e.Name)
	}
	for _, e := range before.Elections {
		if _, gone := old[e.Name]; gone {
			change.Removed = append(change.Removed, e.Name)
		}
	}
	return change
}
