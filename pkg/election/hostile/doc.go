// Package hostile holds no code: its tests commit one hostile act after another to the
// objects of elections on a real API server, as a stranger with the right to edit them
// would, and record the consequences of each act: who stopped, who leads again, what was
// reported and how the record looks afterwards.
//
// Every act has an election of its own, once in a Lease and once in a ConfigMap. All acts
// are committed at the same time, while three members on the profile "fast" run. The
// runners record their own times, and a judge, which is tested with planted overlaps, looks
// for two at work at once. docs/hostile-records.md is what a run with -update saw; the test
// checks its rows, not its figures.
package hostile
