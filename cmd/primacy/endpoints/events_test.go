package endpoints

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
)

// TestManyStreamsAreWrittenToLessOften checks that a batch waits for longer the more streams are open, so that the writes to a
// thousand of them leave the processors to the elections.
func TestManyStreamsAreWrittenToLessOften(t *testing.T) {
	for streams, waits := range map[int]time.Duration{1: 100400 * time.Microsecond, 1000: 500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			h := newHub(mostStreams)
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
