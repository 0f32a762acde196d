// Package interop holds no code: its tests put Primacy and the real client-go elector on
// one Lease of a real API server and show that no two of them ever work at once, by the
// workers' own clocks, whoever leads, leaves, is killed, is cut off, is outranked or has
// its lock taken.
//
// The electors are of two versions. The elector of the module's own client-go runs in the
// test's process, or in a process of its own if the test kills it. The elector of client-go
// 0.26 is a program (clientgo026). Each case runs many elections at once, in a namespace of
// its own. A case ends with the verdict of a judge. Other tests check the judge with planted
// overlaps, and with a real one, after a claim that we did not wait out for long enough.
//
// Whole members run together, too: processes of primacy as it was at an earlier commit, built from
// its source, and of primacy as it is (whole). Members of one version replace those of the other, one
// after the other, there and back; members are stopped and killed, and rollouts move their elections.
//
// Timings are scaled to seconds. PRIMACY_LONG=1 runs all cases at client-go's defaults
// (15 s, 10 s, 2 s), and whole members at the profile default, which takes minutes.
package interop
