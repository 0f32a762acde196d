//go:build linux

package deadman

import (
	"runtime"
	"sync"
)

// spareThreads is how many threads a watcher makes before its program begins. Few of its calls block
// at a time; the runtime needs the rest.
const spareThreads = 12

// makeThreads makes the threads that a watcher needs. The program may use up all threads that are
// allowed, since the limits of its user and its cgroup count ours too. A Go process dies if it cannot
// get another thread.
func makeThreads() {
	runtime.GOMAXPROCS(1)
	var begun, ended sync.WaitGroup
	begun.Add(spareThreads)
	gate := make(chan struct{})
	for range spareThreads {
		ended.Go(func() {
			runtime.LockOSThread() // so that each goroutine has its own thread until all have one
			defer runtime.UnlockOSThread()
			begun.Done()
			<-gate
		})
	}
	begun.Wait()
	close(gate)
	ended.Wait()
}
