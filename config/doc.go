// Package config turns the document PrimacyConfiguration into plain structs in which
// everything is validated and every default is filled in, and layers the process's
// own settings (flags, environment) over it.
//
// Parse reads one document. LoadProcess does what a command wants: it finds the file,
// reads it and applies flags and environment. Watch delivers a file's changes.
//
// What belongs to an adapter (a runner, a lock kind, a source of revisions) stays a
// raw Block: its registry decodes it with package strict, and Configuration.Within and
// Configuration.ErrorAt turn what it complains about into errors with file and line.
//
// A Configuration is never written to after it was made, so it may be shared between
// goroutines. Only Watch runs for longer than its call needs, and it starts nothing
// that outlives it.
package config
