// Package interop holds no code: its tests put Primacy and the real client-go elector on
// one Lease of a real API server and show that no two of them ever work at once, by the
// workers' own clocks, whoever leads, leaves, is killed, is cut off, is outranked or has
// its lock taken.
//
// The elector is that of the module's own client-go, in the test's process where it is
// stopped and in one of its own where it is killed, and that of client-go 0.26, as a
// program (clientgo026). Each case is run for many elections at once, in a namespace of
// its own. A case ends with the verdict of a judge that is shown planted overlaps, and a
// real one: what comes of a claim that is not waited out for long enough.
//
// Whole members live side by side, too: processes of primacy as it was at an earlier commit, built from
// its source, and of primacy as it is (whole). Those of one version replace those of the other one by
// one, there and back; members are stopped and killed, and rollouts move their elections.
//
// Timings are scaled to seconds. PRIMACY_LONG=1 runs all cases at client-go's defaults
// (15 s, 10 s, 2 s), and whole members at the profile default, which takes minutes.
package interop
