//go:build linux

// Package exec runs any program as the work of an election.
//
//	exec:
//	  command: [./bin/writer, --once=false]
//	  stopGrace: 5s      # at most the election's, which is the default
//	  dir: /srv/writer   # where it runs; primacy's own directory when left out
//	  env:
//	  - {name: WRITER_MODE, value: leader}
//	  user: {uid: 65534, gid: 65534}                          # primacy needs root for it
//	  limits: {openFiles: 256, memory: 512Mi, cpuTime: 60s, processes: 32, core: 1Mi}
//	  output: {linesPerSecond: 500, bytesPerSecond: 131072}   # the defaults
//
// # The program
//
// There is no shell. A command without a slash is looked up in primacy's PATH; a relative
// path with a slash starts at dir. The program runs in a session of its own, with an empty
// standard input, and without any open file of primacy's (all of them are marked
// close-on-exec). Its environment is exactly: PATH, HOME, TMPDIR, TZ, LANG, KUBECONFIG,
// KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT as primacy has them, what env adds, and
//
//	PRIMACY_ELECTION, PRIMACY_IDENTITY, PRIMACY_MEMBER_REVISION
//	PRIMACY_TOKEN          the term's fencing token, decimal; not set if there is none
//	PRIMACY_DEADLINE       when it must be dead: nanoseconds on CLOCK_BOOTTIME, decimal
//	PRIMACY_EXTENSIONS_FD  3
//
// From file descriptor 3 it may read extensions: one later deadline per line, in the same
// form. Only the last line counts; a program that reads late misses some. The end of the
// file means that primacy is gone.
//
// Every line of its two outputs becomes a line of primacy's log, cut after 64 KiB. Lines
// above the rate of output are dropped; each second a line says how much that was. A program
// never waits for the log.
//
// # Limits
//
// memory and processes bound the program together with all that it starts where this process has a control group that can
// limit programs (deadman.Trees); elsewhere they are limits of each process or user, as the other limits always are. If the
// kernel kills the program because no memory is left, Run's error wraps runners.ErrMemory.
//
// # Its end
//
// When the term is stopped the whole group gets SIGTERM, and SIGKILL after stopGrace or
// shortly before the instant by which it must be dead, whichever comes first. When a
// term's deadline comes without an extension the group is killed, even if nobody said stop.
// When the program ends by itself, the rest of its group is killed.
//
// Run returns when the program has been reaped and nothing that it started lives. The
// program gains no privileges by what it executes (no_new_privs), so nothing of it can
// become a user whom we cannot signal.
//
// A supervisor of ours does all this: a process between this one and the program (package
// deadman), with a guard of its own. So it happens even while this process is frozen. When
// this process is killed, the supervisor kills the program at once.
//
// # Goroutines
//
// Run starts one for each output, one for the extensions and one for the supervisor. All
// have ended when it returns.
package exec
