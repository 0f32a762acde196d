// Package memory is a lock store in memory, for tests and the simulator. It behaves as
// the API server does: revisions rise over the whole store, including writes to neighbouring
// realms (Realm.Beside); an object that is created again has another uid; an identical write
// changes nothing; a watch resumes from its last revision unless that has been compacted
// away. It stores records encoded, so package codec refuses the same records here, or finds
// them unreadable.
//
// The members share a Realm; each has a Store of its own for it. Tests give faults to a Store
// by the name of the operation:
//
//	realm := memory.New(clock)
//	store := realm.Store()
//	store.On(memory.Put, memory.Lose())   // written, but the reply never comes
//
// It has no clock of its own and draws no random numbers. Its waits, such as those between retries of a
// watch, use timers of package time, so it runs in a testing/synctest bubble if it was made there.
// Everything is safe for concurrent use. It starts no goroutine.
package memory
