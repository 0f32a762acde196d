package runners_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/atomic"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// TestLeadThatWasCancelled checks that the end of a term never ends the work, whatever lead then returns.
func TestLeadThatWasCancelled(t *testing.T) {
	for name, returns := range map[string]func(context.Context) error{
		"nothing": func(context.Context) error { return nil }, "its error": context.Context.Err, "its cause": context.Cause,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				m1 := s.enter("m1", func(ctx context.Context, terms *election.Terms) error {
					s.diary.note("runs")
					return terms.Each(ctx, func(ctx context.Context, _ election.Term) error {
						s.diary.note("leads")
						<-ctx.Done()
						return returns(ctx)
					})
				})
				after(30 * time.Second)
				for range 3 {
					s.realm.Delete("e")
					after(40 * time.Second)
				}
				if s.diary.count("runs") != 1 || s.diary.count("leads") != 4 {
					t.Errorf("%v", s.diary.lines)
				}
				m1.stop()
				<-m1.done
			})
		})
	}
}

// TestEachEndsWithItsContext checks that Each ends, and lead with it, when the work's own context ends, and that
// the work is then started again in the same term.
func TestEachEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		died := errors.New("the cache died")
		m1 := s.enter("m1", func(ctx context.Context, terms *election.Terms) error {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(ctx, func() { s.diary.note("ends") })()
			timer := clock.AfterFunc(time.Minute, func() { cancel(died) })
			defer timer.Stop()
			return terms.Each(ctx, func(ctx context.Context, _ election.Term) error {
				s.diary.note("leads")
				<-ctx.Done()
				if why := context.Cause(ctx); why != died {
					s.diary.note(why.Error())
				}
				return nil
			})
		})
		after(3 * time.Minute)
		if n := s.diary.count("leads"); n < 3 || m1.status.Cycle() != 1 || !m1.status.IsLeader() {
			t.Errorf("led %d times, term %d: %v", n, m1.status.Cycle(), s.diary.lines)
		}
		m1.stop()
		<-m1.done
	})
}

// TestLeadThatReturnsEarly checks that a member whose work ends during its term does not keep the lock.
func TestLeadThatReturnsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		m1 := s.enter("m1", func(ctx context.Context, terms *election.Terms) error {
			return terms.Each(ctx, func(context.Context, election.Term) error { return nil })
		})
		after(10 * time.Minute)
		if m1.status.Cycle() < 2 {
			t.Error("it keeps the lock, and does not work")
		}
		m1.stop()
		<-m1.done
	})
}

// TestLeadThatOutlivesItsRun checks that the lock is not released while lead is at work in a goroutine that
// RunAlways left behind.
func TestLeadThatOutlivesItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var at atomic.String
		work := func(name string) election.AlwaysFunc {
			return func(ctx context.Context, terms *election.Terms) error {
				led, left := make(chan struct{}, 1), make(chan error, 1)
				go func() {
					left <- terms.Each(ctx, func(ctx context.Context, _ election.Term) error {
						if other := at.Swap(name); other != "" {
							t.Errorf("%s begins while %s is at work", name, other)
						}
						select {
						case led <- struct{}{}:
						default:
						}
						<-ctx.Done()
						time.Sleep(3 * time.Second) // within stopGrace
						at.Store("")
						return nil
					})
				}()
				select {
				case <-led:
				case err := <-left:
					return err
				}
				time.Sleep(20 * time.Second)
				panic("oh")
			}
		}
		m1 := s.enter("m1", work("m1"))
		after(10 * time.Second)
		m2 := s.enter("m2", work("m2"))
		for range 5 {
			after(20 * time.Second)
			s.realm.Delete("e")
		}
		if m1.status.Cycle()+m2.status.Cycle() < 3 {
			t.Errorf("this shows nothing: %d and %d terms", m1.status.Cycle(), m2.status.Cycle())
		}
		m1.stop()
		m2.stop()
		<-m1.done
		<-m2.done
	})
}
