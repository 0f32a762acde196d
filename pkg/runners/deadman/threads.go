package deadman

import (
	"runtime"
	"sync"
)

// spareThreads is how many threads a watcher makes before its program begins. Few of its calls block
// at a time; the runtime needs the rest.
const spareThreads = 12

// makeThreads makes the threads that a watcher needs. The program may use up all that are allowed:
// its user's and its cgroup's threads are counted together with ours. A Go process dies if it cannot
// get another thread.
func makeThreads() {
	runtime.GOMAXPROCS(1)
	var begun, ended sync.WaitGroup
	begun.Add(spareThreads)
	gate := make(chan struct{})
	for range spareThreads {
		ended.Go(func() {
			runtime.LockOSThread() // so that each has its own thread until all have one
			defer runtime.UnlockOSThread()
			begun.Done()
			<-gate
		})
	}
	begun.Wait()
	close(gate)
	ended.Wait()
}
