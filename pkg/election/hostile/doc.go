// Package hostile holds no code: its tests commit one hostile act after another to the
// objects of elections on a real API server, as a stranger with the right to edit them
// would, and say what became of each: who stopped, who leads again, what was reported and
// how the record looks afterwards.
//
// Every act has an election of its own, once in a Lease and once in a ConfigMap, and all
// run at the same time, beside three members on the profile "fast". The runners keep
// their own time, and a judge that is shown planted overlaps looks for two at work at
// once. docs/hostile-records.md is what a run with -update saw; the test holds its rows,
// not its figures.
package hostile
