package watchfile

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestALookThatHangs checks what a Stall tells of looks, and when: nothing of one that ends in time, and of one that hangs, that it does
// and that this is over.
func TestALookThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		began := time.Now()
		tell := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, what+" at "+time.Since(began).String())
		}
		s := Stall{After: 10 * time.Second, Tell: func() func() {
			tell("stalls")
			return func() { tell("over") }
		}}
		s.during(func() { time.Sleep(9 * time.Second) })
		s.during(func() {
			time.Sleep(time.Minute)
			tell("answered")
		})
		if want := []string{"stalls at 19s", "answered at 1m9s", "over at 1m9s"}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
	})
}
