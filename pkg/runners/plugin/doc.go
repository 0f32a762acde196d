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
// What is executed is what was verified: the file is opened without following links, copied
// into memory that is then sealed against every change, hashed there, and executed from there.
// When a configuration is decoded each plugin is started once, to hear whether it speaks the
// protocol and takes its configuration; so a plugin that cannot run is refused before any
// election is won. The copy is kept: what becomes of the file later changes nothing.
//
// A plugin runs under the supervisor of package deadman, in an environment that is listed
// (package child), with a certificate made for that run on both sides of its socket. Each
// term is a process of its own.
//
// # Goroutines
//
// Run starts some that read the plugin's outputs and talk to it; all have ended when it
// returns.
package plugin
