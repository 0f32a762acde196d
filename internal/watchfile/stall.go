package watchfile

import (
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// Slow is a good Stall.After: the steps of a look that bound themselves, such as requests, take less.
const Slow = 15 * time.Second

// Stall says what to do if a look takes long, as it does while the disk does not answer. The zero value is for nothing.
type Stall struct {
	// After is how long a look may take.
	After time.Duration
	// Tell is called when a look has taken that long, on another goroutine than the look's. What it returns is called when the look
	// has ended. Watch joins both before it goes on.
	Tell func() (over func())
}

// during calls a part of a look, and tells if that takes long.
func (s Stall) during(look func()) {
	if s.Tell == nil {
		look()
		return
	}
	ended := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(ended)
	wg.Go(func() {
		timer := clock.NewTimer(s.After)
		defer timer.Stop()
		select {
		case <-ended:
			return
		case <-timer.C:
		}
		over := s.Tell()
		<-ended
		over()
	})
	look()
}
