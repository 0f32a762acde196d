// Package memory is a lock store in memory, for tests and the simulator. It behaves as
// the API server does: revisions rise over the whole store, also by what is written to realms
// beside one (Realm.Beside), an object that is created again has another uid, an identical
// write changes nothing, a watch resumes from its last revision unless that has been
// compacted away. Records are stored encoded, so that all that package codec refuses or
// finds unreadable is met here too.
//
// A Realm is what the members share; each takes part through a Store of its own, to
// which faults are given by the name of the operation:
//
//	realm := memory.New(clock)
//	store := realm.Store()
//	store.On(memory.Put, memory.Lose())   // written, but the reply never comes
//
// It has no clock and draws no random numbers; what it waits for, retries of a watch
// above all, it waits for with timers of package time, so it runs in a testing/synctest
// bubble, provided that it was made there. Everything is safe for concurrent use. It starts no goroutine.
package memory
