// Package death ends a process in the ways in which members die.
package death

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Way is a way to die.
type Way string

const (
	// Killed: another process sends SIGKILL. The process itself does nothing.
	Killed Way = "SIGKILL"
	// Panic: a goroutine panics, and nothing recovers it.
	Panic Way = "panic"
	// Exit: the work calls os.Exit.
	Exit Way = "os.Exit"
	// Stuck: the work does not stop when it should, so its member exits with status 70.
	Stuck Way = "exit 70"
	// Memory: the kernel kills the process because its control group has no memory left.
	Memory Way = "out of memory"
	// AddressSpace: the process may have no more memory (setrlimit), and Go's runtime ends it.
	AddressSpace Way = "out of address space"
)

// Variable is the environment variable that names the way in which a process dies at Sign.
const Variable = "BENCH_DEATH"

// Sign tells a process to die.
const Sign = syscall.SIGUSR1

// OfProcess is the way in which this process must die.
func OfProcess() Way { return Way(os.Getenv(Variable)) }

// Signs has something to receive once a Sign has come. The caller must call stop.
func Signs() (signs <-chan os.Signal, stop func()) {
	all := make(chan os.Signal, 1)
	signal.Notify(all, Sign)
	return all, func() { signal.Stop(all) }
}

// AtSign ends the process in this way once a Sign has come. The caller must call stop.
func (w Way) AtSign() (stop func()) {
	signs, deaf := Signs()
	done := make(chan struct{})
	go func() { // ends with stop, or with the process
		select {
		case <-signs:
			w.die()
		case <-done:
		}
	}()
	return func() {
		deaf()
		close(done)
	}
}

// die ends the process. It panics for ways that need somebody else.
func (w Way) die() {
	switch w {
	case Exit:
		os.Exit(3)
	case Memory:
		fill()
	case AddressSpace:
		const little = 16 << 20
		if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: little, Max: little}); err != nil {
			panic(err)
		}
		fill()
	default:
		panic(fmt.Sprintf("planted: %s", w))
	}
}

// fill takes all memory that there is.
func fill() {
	for {
		more := make([]byte, 1<<20)
		for i := 0; i < len(more); i += 4096 {
			more[i] = 1
		}
		taken = append(taken, more)
	}
}

// taken keeps what fill took.
var taken [][]byte
