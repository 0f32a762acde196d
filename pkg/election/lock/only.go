package lock

import "slices"

// Only wraps deliver: it passes on events of the named objects, and turns changes of other objects into
// Progressed.
func Only(names []string, deliver func(Event)) func(Event) {
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
	}
	return func(e Event) {
		switch e.Kind {
		case Listed:
			e.List = slices.DeleteFunc(slices.Clone(e.List), func(e Entry) bool { return !wanted[e.Name] })
		case Changed:
			if !wanted[e.Entry.Name] {
				e = Event{Kind: Progressed, Revision: e.Entry.Version.Revision}
			}
		}
		deliver(e)
	}
}
