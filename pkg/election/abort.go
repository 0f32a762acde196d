package election

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Others may begin soon after the work's time is over, and the log may hang. So the log is told before that time, while
// the work may still stop, and the process ends on time whether the log has taken the line or not.

// aborter ends the process because of work that does not end in time.
type aborter struct {
	// abort is Config.Abort.
	abort func(error)
	log   *zap.Logger
}

const (
	// warnAhead is how long before the process ends we log why.
	warnAhead = 100 * time.Millisecond
	// latestLog is how long we wait for the log at the end if we could not log before: the process was frozen, or the work was
	// told to stop only when its time was over.
	latestLog = 10 * time.Millisecond
	// overLog is how long the log may take when the work has ended, though too late.
	overLog = 100 * time.Millisecond
)

// exitAborted is the exit status of a process that lost control of its work.
const exitAborted = 70

// exit is the default of Config.Abort.
func exit(error) { os.Exit(exitAborted) }

// lastLine is the line that says why the process ends.
type lastLine struct {
	begun   record.Instant
	written chan struct{}
}

// say begins the last line of the log.
func (a aborter) say(c clock.Clock, message string, err error) *lastLine {
	l := &lastLine{c.Now(), make(chan struct{})}
	go func() { // it may hang: nobody joins it
		defer close(l.written)
		a.log.Error(message, zap.Error(err))
		_ = a.log.Sync() // the process ends either way
	}()
	return l
}

// await waits until the line is written, but not for longer than patience after it was begun.
func (l *lastLine) await(c clock.Clock, patience time.Duration) {
	timer := clock.NewTimer(clock.Until(c, l.begun.Add(patience)))
	defer timer.Stop()
	select {
	case <-l.written:
	case <-timer.C:
	}
}

// ending is what we know of the end of this process because of work that does not stop. Most work has none.
type ending struct {
	// warning calls warn. line is the last line of the log, once it was begun.
	warning *clock.Timer
	line    *lastLine
	// aborting: the process is about to end. Abort is called once.
	aborting bool
}

// itsEnding returns the work's ending. w.mu is held.
func (w *work) itsEnding() *ending {
	if w.ending == nil {
		w.ending = &ending{}
	}
	return w.ending
}

// warnLater has warn called shortly before the work's time is over. w.mu is held.
func (w *work) warnLater(by record.Instant) {
	if w.contained {
		return // what is late then is the runner's return; its work is dead
	}
	w.itsEnding().warning = clock.AfterFunc(clock.Until(w.clock, by.Add(-min(warnAhead, w.grace/4))), w.warn)
}

// warn logs that the process will end if the work does not.
func (w *work) warn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.returned {
		w.logLocked("work has not stopped: this process ends in a moment if it goes on", w.late("has not stopped yet"))
	}
}

// logLocked begins the last line, if it is not begun yet.
func (w *work) logLocked(message string, err error) {
	end := w.itsEnding()
	if end.line != nil {
		return
	}
	end.line = w.aborter.say(w.clock, message, err)
}

// abortLocked returns a function that ends the process. That waits for the last line, but for no longer than patience after
// the line was begun, and must be called without a lock.
func (w *work) abortLocked(why string, patience time.Duration) (then func()) {
	end := w.itsEnding()
	if end.aborting {
		return nothing
	}
	end.aborting = true
	err := w.late(why)
	w.logLocked("aborting: work cannot be stopped in time", err)
	line := end.line
	return func() {
		line.await(w.clock, patience)
		w.aborter.abort(err)
	}
}

// late says why the process ends. w.mu is held.
func (w *work) late(why string) error {
	reason := string(machine.ReasonExpired)
	if w.stop != nil {
		reason = w.stop.Reason
	}
	return fmt.Errorf("election %s: term %d: runner %s (%s)", w.term.Election, w.term.Token, why, reason)
}
