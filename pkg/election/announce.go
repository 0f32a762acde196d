package election

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// announcer calls Config.Announce, one call at a time. A call may hang, as a disk may: nobody waits for it for long, and
// no goroutine joins it. The latest identity is announced last.
//
// While an announcement is late, the word of a kubelet names an earlier identity, or none, so it ends no living session. Nothing else is lost.
type announcer struct {
	mu sync.Mutex
	// next waits for its turn; nil for none. A later one takes its place.
	next *announcement
	// busy: a goroutine announces.
	busy bool
}

type announcement struct {
	identity string
	done     chan error
}

// announceFor is how long a member waits for its announcement.
const announceFor = time.Second

var errAnnounceSlow = errors.New("it is not written after a second")

// announce calls write with the identity on the announcer's goroutine, and waits for that, for announceFor at most.
func (a *announcer) announce(ctx context.Context, write func(string) error, identity string) error {
	one := &announcement{identity, make(chan error, 1)}
	a.mu.Lock()
	a.next = one
	if !a.busy {
		a.busy = true
		go a.run(write)
	}
	a.mu.Unlock()
	timer := clock.NewTimer(announceFor)
	defer timer.Stop()
	select {
	case err := <-one.done:
		return err
	case <-timer.C:
		return errAnnounceSlow
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run announces until nothing waits.
func (a *announcer) run(announce func(string) error) {
	for one := a.take(); one != nil; one = a.take() {
		one.done <- announce(one.identity)
	}
}

func (a *announcer) take() *announcement {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.next
	a.next, a.busy = nil, one != nil
	return one
}
