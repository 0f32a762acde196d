//go:build linux

package runnertest

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// patience is how long the suite waits for an event before the event counts as missing. No measured
// time depends on it. The suite's own tests shorten it.
var patience = 20 * time.Second

// Stage shows the suite which work exists and what it reports.
type Stage struct {
	// Pipe is the path that the work opens, and to which it writes its events.
	Pipe string

	t      testing.TB
	reader *os.File
	// keep is our own open writer: without a writer, reader would meet the end before the first work
	// opens the pipe.
	keep   *os.File
	events chan string
	ended  chan struct{}
}

// NewStage makes a stage that ends with the test. The test fails if work is left on the stage.
func NewStage(t testing.TB) *Stage {
	t.Helper()
	s := &Stage{Pipe: filepath.Join(t.TempDir(), "stage"), t: t, events: make(chan string, 4096), ended: make(chan struct{})}
	if err := unix.Mkfifo(s.Pipe, 0o600); err != nil {
		t.Fatalf("make the stage: %v", err)
	}
	var err error
	if s.reader, err = os.OpenFile(s.Pipe, os.O_RDONLY|unix.O_NONBLOCK, 0); err != nil {
		t.Fatalf("open the stage: %v", err)
	}
	if s.keep, err = os.OpenFile(s.Pipe, os.O_WRONLY, 0); err != nil {
		t.Fatalf("open the stage: %v", err)
	}
	go func() {
		defer close(s.ended)
		for lines := bufio.NewScanner(s.reader); lines.Scan(); {
			s.events <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = s.keep.Close()
		select {
		case <-s.ended:
		case <-clock.NewTimer(patience).C:
			t.Error("work is left on the stage at the end of the test")
			_ = s.reader.Close()
			<-s.ended
		}
		_ = s.reader.Close()
	})
	return s
}

// Await waits for an event that begins with the word, and returns what follows it.
func (s *Stage) Await(word string) string {
	s.t.Helper()
	var seen []string
	timeout := clock.NewTimer(patience)
	defer timeout.Stop()
	for {
		select {
		case event := <-s.events:
			if first, rest, _ := strings.Cut(event, " "); first == word {
				return rest
			}
			seen = append(seen, event)
		case <-timeout.C:
			s.t.Fatalf("no event %q; seen were %q", word, seen)
		}
	}
}

// Next waits for the next event; empty if none comes in time.
func (s *Stage) Next(within time.Duration) string {
	timeout := clock.NewTimer(within)
	defer timeout.Stop()
	select {
	case event := <-s.events:
		return event
	case <-timeout.C:
		return ""
	}
}

// Alive says whether any work exists at this moment. It closes our own writer, so the stage ends as
// soon as no work is on it.
func (s *Stage) Alive() bool {
	s.t.Helper()
	_ = s.keep.Close()
	raw, err := s.reader.SyscallConn()
	if err != nil {
		s.t.Fatalf("look at the stage: %v", err)
	}
	alive := true
	if err := raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} // #nosec G115 -- a descriptor is a small number
		for {
			_, err = unix.Poll(poll, 0)
			if err != unix.EINTR {
				break
			}
		}
		alive = poll[0].Revents&unix.POLLHUP == 0
	}); err != nil {
		s.t.Fatalf("look at the stage: %v", err)
	}
	if err != nil {
		s.t.Fatalf("look at the stage: %v", err)
	}
	return alive
}

// AwaitEmpty waits until no work is left.
func (s *Stage) AwaitEmpty() {
	s.t.Helper()
	_ = s.keep.Close()
	select {
	case <-s.ended:
	case <-clock.NewTimer(patience).C:
		s.t.Fatal("work is left on the stage")
	}
}

// Unheard lists the events that nobody awaited, once no work is left.
func (s *Stage) Unheard() []string {
	s.t.Helper()
	s.AwaitEmpty()
	var events []string
	for {
		select {
		case event := <-s.events:
			events = append(events, event)
		default:
			return events
		}
	}
}

// Tell is how work enters a stage and reports events: one line each, written whole.
type Tell struct{ pipe *os.File }

// Enter opens the stage at the path. The work is on it until Leave.
func Enter(pipe string) (*Tell, error) {
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("enter the stage: %w", err)
	}
	return &Tell{f}, nil
}

// Event reports an event. It ignores errors: the suite may be gone.
func (e *Tell) Event(format string, args ...any) {
	_, _ = fmt.Fprintf(e.pipe, format+"\n", args...)
}

// Leave ends the work's presence.
func (e *Tell) Leave() { _ = e.pipe.Close() }
