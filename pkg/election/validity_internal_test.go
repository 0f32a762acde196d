package election

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// handClock shows the time that the test sets.
type handClock struct{ now atomic.Int64 }

func (c *handClock) Now() record.Instant { return record.Instant(c.now.Load()) }
func (c *handClock) Wall() time.Time     { return time.Time{} }

// TestExtendedAtTheVeryDeadline checks that an extension that arrives at the deadline cuts what was under
// way and nothing that begins after it. A term that was stopped is not extended.
func TestExtendedAtTheVeryDeadline(t *testing.T) {
	c := &handClock{}
	s := newStatus("a", newShared(c))
	if s.extend(50); s.ValidTerm() != nil {
		t.Error("no term is valid")
	}
	s.begin(1, 100)
	ended := make(chan Stop, 2)
	s.ValidTerm().OnEnd(func(why Stop) { ended <- why })
	c.now.Store(100)
	if why := <-ended; why.By != 100 || s.ValidTerm() != nil {
		t.Errorf("ended by %d, valid %v", why.By, s.ValidTerm())
	}
	s.extend(1 << 62)
	v := s.ValidTerm()
	if v == nil || v.Token != 1 {
		t.Fatalf("extended, yet %v", v)
	}
	forget := v.OnEnd(func(Stop) { t.Error("it was forgotten") })
	forget()
	v.OnEnd(func(why Stop) { ended <- why })
	if len(ended) != 0 {
		t.Fatal("it is over at once")
	}
	if s.end(2, Stop{}); s.ValidTerm() == nil {
		t.Error("another term's end ended it")
	}
	s.end(1, Stop{Reason: "why"})
	s.end(1, Stop{})
	if why := <-ended; why.Reason != "why" || len(ended) != 0 {
		t.Errorf("%v", why)
	}
	if s.extend(1 << 62); s.ValidTerm() != nil {
		t.Error("a stopped term was extended")
	}
	v.OnEnd(func(why Stop) { ended <- why })
	if why := <-ended; why.Reason != "why" {
		t.Errorf("asked for later: %v", why)
	}
	if (Term{Token: 1}).Valid() != nil {
		t.Error("a term that no Manager began is valid")
	}
}
