package deadman

import (
	"runtime"
	"sync"
)

// spareThreads is how many threads a watcher has before its program begins. It waits in few calls
// at a time; the rest is for those of the runtime.
const spareThreads = 12

// makeThreads makes the threads that a watcher needs. The program may leave none to be had: those
// of its user, and those of its cgroup, are counted together with ours. A Go process that wants
// another thread then dies.
func makeThreads() {
	runtime.GOMAXPROCS(1)
	var begun, ended sync.WaitGroup
	begun.Add(spareThreads)
	gate := make(chan struct{})
	for range spareThreads {
		ended.Go(func() {
			runtime.LockOSThread() // so that each has a thread of its own until all have one
			defer runtime.UnlockOSThread()
			begun.Done()
			<-gate
		})
	}
	begun.Wait()
	close(gate)
	ended.Wait()
}
