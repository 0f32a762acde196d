// Package revisions knows the kinds of sources from which the preferred revision comes.
//
// A kind is a Decoder, registered under its name:
//
//	reg := revisions.NewRegistry()
//	reg.Register("static", static.Kind())
//	reg.Register("configMap", configmap.Kind(client))
//
// The configuration keeps a source's block as a raw YAML node; Registry.Decode turns it into the
// election.Preferences of a Manager. A Switch between source and Manager lets the source be exchanged
// while it is watched.
//
// Goroutines: a source works on the goroutine that calls Watch; any others that it starts have
// ended when Watch returns. A Switch may leave an exchanged source behind that hangs.
package revisions
