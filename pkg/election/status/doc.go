// Package status shows people who leads what. It uses only what the API shows: the records
// of locks and sessions in one realm.
//
//	report, err := status.Look(ctx, status.Realm{Leases: locks}, status.Selection{Group: "edge"})
//	if err != nil { return err }
//	return report.Write(os.Stdout, status.Table)
//
// # What one look cannot know
//
// To know whether a holder lives, one must watch its beats with one's own clock for as long
// as its lease lasts. A single look has only the time that the holder wrote. So a lock that
// looks expired is called stale, with a question mark; decide nothing by that.
//
// # Strings
//
// Anybody who may edit a lock chooses what is in it. Every string of a Report has
// unprintable characters and backslashes escaped, as in Go's string literals.
//
// Only Look and Follow start goroutines, and join them.
package status
