// Package revisions knows the kinds of sources from which the preferred revision comes.
//
// A kind is a Decoder, registered under its name:
//
//	reg := revisions.NewRegistry()
//	reg.Register("static", static.Kind())
//	reg.Register("configMap", configmap.Kind(client))
//
// The configuration keeps the block of its source as a raw node; Registry.Decode turns it
// into the election.Preferences that a Manager is given. A Switch stands between the two
// where the source may be exchanged while it is watched.
//
// Goroutines: a source is watched on the goroutine of whoever calls Watch, and what it
// starts has ended when Watch returns.
package revisions
