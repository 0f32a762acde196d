// Package status tells people who leads what, from nothing but what the API shows: the
// records of locks and sessions in one realm.
//
//	report, err := status.Look(ctx, status.Realm{Leases: locks}, status.Selection{Group: "edge"})
//	if err != nil { return err }
//	return report.Write(os.Stdout, status.Table)
//
// # What one look cannot know
//
// Whether a holder lives is decided by watching its beats with one's own clock, for as
// long as its lease lasts. A single look has only the time that the holder wrote. So
// what looks expired is called stale, with a question mark; nothing may be decided by it.
//
// # Strings
//
// Anybody who may edit a lock chooses what is in it. In every string of a Report, what
// cannot be printed is escaped as in Go's string literals, and so is the backslash.
//
// Only Look and Follow start goroutines, and join them.
package status
