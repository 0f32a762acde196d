package revisions_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/static"
)

// hung is a source whose disk does not answer before it closes. Then the source delivers what it read, though its
// context may have ended.
type hung struct{ disk chan struct{} }

func (h hung) Watch(_ context.Context, deliver func(election.Preference)) error {
	<-h.disk
	deliver(record.Prefer("late"))
	return nil
}

// TestSwitchFromASourceThatHangs checks that a Switch watches the next source soon though the one before hangs, and that a
// delivery of the one that was left behind does not count.
func TestSwitchFromASourceThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := hung{make(chan struct{})}
		s := revisions.NewSwitch(old)
		w := watch(t, s)
		synctest.Wait()
		s.Use(static.Revision("next"))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := strings.Join(w.got, " "); got != "next" {
			t.Errorf("2 s after the exchange the Switch has delivered %q, want next", got)
		}
		close(old.disk)
		synctest.Wait()
		w.cancel()
		if err := <-w.done; err != nil {
			t.Error(err)
		}
		if got := strings.Join(w.got, " "); got != "next" {
			t.Errorf("in the end the Switch has delivered %q, want next", got)
		}
	})
}

// TestSwitchTakesTheLastWordOfASource checks that what an exchanged source delivers within the grace counts, before
// the next one is watched.
func TestSwitchTakesTheLastWordOfASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := hung{make(chan struct{})}
		s := revisions.NewSwitch(old)
		w := watch(t, s)
		synctest.Wait()
		s.Use(static.Revision("next"))
		synctest.Wait()
		close(old.disk)
		synctest.Wait()
		w.cancel()
		if err := <-w.done; err != nil {
			t.Error(err)
		}
		if got := strings.Join(w.got, " "); got != "late next" {
			t.Errorf("the Switch has delivered %q, want late next", got)
		}
	})
}
