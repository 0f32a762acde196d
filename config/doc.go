// Package config turns the document PrimacyConfiguration into plain structs in which
// everything is validated and every default is filled in, and layers the process's
// own settings (flags, environment) over it.
//
// Parse reads one document. LoadProcess does what a command wants: it finds the file,
// reads it and applies flags and environment. Watch delivers a file's changes.
//
// The block of an adapter (a runner, a lock kind, a source of revisions) stays a raw Block.
// The adapter's registry decodes it with package strict; Configuration.Within and
// Configuration.ErrorAt turn the registry's complaints into errors with file and line.
//
// A Configuration is never changed once made, so goroutines may share it. Only Watch blocks,
// until its context ends, and it leaves no goroutine behind.
package config
