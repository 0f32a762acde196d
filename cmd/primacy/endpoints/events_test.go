package endpoints

import (
	"regexp"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
)

// many is how many streams a hub of tests may have.
func many() int { return mostStreams }

// TestManyStreamsAreWrittenToLessOften checks that a batch waits for longer the more streams are open, so that the writes to a
// thousand of them leave the processors to the elections.
func TestManyStreamsAreWrittenToLessOften(t *testing.T) {
	for streams, waits := range map[int]time.Duration{1: 100400 * time.Microsecond, 1000: 500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			h := newHub(many)
			all := make([]*stream, streams)
			for i := range all {
				all[i] = h.join()
			}
			transitions := make(chan election.ElectionTransition)
			var joined sync.WaitGroup
			joined.Go(func() { h.run(func() string { return "m" }, transitions) })
			got := func() (n int) {
				for _, s := range all {
					n += len(s.batches)
				}
				return n
			}
			transitions <- election.ElectionTransition{}
			if after(waits - time.Microsecond); got() != 0 {
				t.Errorf("%d streams: %d have the batch before %v are over", streams, got(), waits)
			}
			if after(time.Second); got() != streams {
				t.Errorf("%d streams: %d have the batch", streams, got())
			}
			close(transitions)
			joined.Wait()
		})
	}
}

// TestGapsAreTold checks that a stream which joins while transitions are gathered reads no gap without a word: if the others have
// left meanwhile, it reads nothing of what was gathered for them.
func TestGapsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(many)
		transitions := make(chan election.ElectionTransition)
		var joined sync.WaitGroup
		joined.Go(func() { h.run(func() string { return "m" }, transitions) })
		tell := func(number uint64) {
			transitions <- election.ElectionTransition{Number: number}
			synctest.Wait()
		}
		first := h.join()
		tell(5)
		h.leave(first)
		tell(6)
		second := h.join()
		tell(7)
		tell(9)
		close(transitions)
		joined.Wait()
		var got []string
		for one := range second.batches {
			for _, m := range regexp.MustCompile(`id: (\d+)\nevent: (\w+)`).FindAllStringSubmatch(string(one.plain), -1) {
				got = append(got, m[2]+" "+m[1])
			}
		}
		if want := []string{"transition 7", "lost 8", "transition 9"}; !slices.Equal(got, want) {
			t.Errorf("read %q, want %q", got, want)
		}
	})
}

// TestALaggingStreamIsCut checks that a stream which takes nothing is cut off once it lags too far behind, and others are not.
func TestALaggingStreamIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(many)
		slow, quick := h.join(), h.join()
		for range streamBuffer + 1 {
			h.send([]byte("x"))
			<-quick.batches
		}
		if h.cut.Load() != 1 || h.open() != 1 {
			t.Errorf("%d cut off, %d open", h.cut.Load(), h.open())
		}
		n := 0
		for range slow.batches { // ends, since the hub has closed it
			n++
		}
		if n != streamBuffer {
			t.Errorf("it had %d batches", n)
		}
	})
}
