// Package plugin runs programs of hashicorp/go-plugin as the work of an election.
//
//	plugin:
//	  name: greeter      # a file in the plugin folder, no path
//	  sha256: 5f2d...    # of that file
//	  stopGrace: 5s      # at most the election's, which is the default
//	  env:
//	  - {name: GREETER_MODE, value: leader}
//	  user: {uid: 65534, gid: 65534}   # this, limits and output are as of exec
//	  config: {greeting: hello}   # what the plugin makes of it is its own
//
// What is executed is what was verified: we open the file without following links, copy it
// into memory, seal that against every change, hash it there, and execute it from there.
// When a configuration is decoded, each plugin is started once, to ask whether it speaks the
// protocol and accepts its configuration. So a plugin that cannot run is refused before any
// election is won. The copy is kept: a later change of the file changes nothing.
//
// A plugin runs under the supervisor of package deadman, in a listed environment (package
// child). Both sides of its socket have a certificate made for that run. Each term is a
// process of its own.
//
// # Goroutines
//
// Run starts some that read the plugin's outputs and talk to it; they have ended when it
// returns.
package plugin
