package interop_test

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/interop/elector"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// again lets an elector stand again after it lost.
func again(o *elector.Options) { o.Again = true }

// outranks gives a member the preferred revision; electors of client-go have none, so it outranks them.
func outranks(e *entry) { e.Prefer = e.Revision }

// TestClaim checks that a member of ours that outranks a living elector of client-go claims the
// lock, waits, and starts work only after the elector has stopped.
func TestClaim(t *testing.T) {
	t.Parallel()
	a := newArena(t, count(30))
	theirs := a.elector("client-go", again)
	a.works(theirs)
	at := now()
	we := a.member("primacy", nil, outranks)
	a.works(we)
	a.took("42: it is outranked, we lead", a.since(at))
	a.took("42: it is outranked, we claim", func(l string) time.Duration {
		claimed, _ := a.claimed(l)
		return claimed.at.Sub(at)
	})
	a.took("42: it works on after our claim for", func(l string) time.Duration {
		claimed, _ := a.claimed(l)
		return a.spans[l][0].till.Sub(claimed.at)
	})
	a.notBefore("its last renewal is waited out", a.afterForeign)
	a.sees(theirs, we)
	at = now()
	we.leave()
	a.works(theirs)
	a.took("45: we leave, what was outranked leads", a.since(at))
}

// statedWait is how long we wait if the configuration states the electors' timings.
func statedWait() time.Duration {
	return config.ForeignTimings{RenewDeadline: theirs().RenewDeadline, RetryPeriod: theirs().RetryPeriod}.Wait()
}

// TestClaimWithStatedTimings checks the same with a configuration that states the electors' timings,
// which makes the wait shorter.
func TestClaimWithStatedTimings(t *testing.T) {
	t.Parallel()
	a := newArena(t, count(30))
	theirs := a.elector("client-go", again)
	a.works(theirs)
	at := now()
	we := a.member("primacy", nil, func(e *entry) {
		outranks(e)
		e.Foreign.Wait = statedWait()
	})
	a.works(we)
	a.took("42: it is outranked, timings stated, we lead", a.since(at))
	a.notBefore("the stated time is waited out", func(l string) record.Instant {
		return instant(a.foreign(l).renewed()).Add(statedWait())
	})
}

// TestClaimWithoutWaitOverlaps checks that our work overlaps with the elector's if we wait too briefly after
// a claim. So the cases above would notice such an overlap.
func TestClaimWithoutWaitOverlaps(t *testing.T) {
	t.Parallel()
	a := newArena(t, count(5))
	a.overlapping = true
	theirs := a.elector("client-go", again)
	a.works(theirs)
	a.member("primacy", nil, func(e *entry) {
		outranks(e)
		e.Foreign.Wait = record.LeastForeignWait // shorter than the electors' timings need
	})
	a.each("both have worked", func(l string) bool {
		return len(a.spans[l]) == 2 && a.spans[l][0].till != 0
	})
	a.took("it works on beside us for", func(l string) time.Duration {
		return a.spans[l][0].till.Sub(a.spans[l][1].from)
	})
}

// TestClaimIsInherited checks that, whatever happens to the claimer, the member that follows it
// waits for as long as the claimer would have.
func TestClaimIsInherited(t *testing.T) {
	for _, tt := range []struct {
		name     string
		location record.Location // of the first claimer; the second one is local
		happens  func(first *party)
	}{
		{"is killed", record.Local, (*party).kill},
		{"leaves", record.Local, (*party).leave},
		{"is outranked", record.Remote, func(*party) {}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, count(10))
			theirs := a.elector("client-go", again)
			a.works(theirs)
			first := a.memberProcess("primacy-1", func(e *entry) { outranks(e); e.Location = tt.location })
			a.each("claimed", func(l string) bool { _, found := a.claimed(l); return found })
			second := a.member("primacy-2", nil, outranks)
			a.sees(second, first)
			tt.happens(first)
			a.works(second)
			if tt.location == record.Local { // else the first claimer waits itself, from the elector's last renewal
				a.notBefore("the first claim is waited out", func(l string) record.Instant {
					claimed, _ := a.claimed(l)
					return instant(claimed.lease.Spec.AcquireTime.Time).Add(foreignWait())
				})
			}
			a.notBefore("its last renewal is waited out", a.afterForeign)
			a.took("42: claimer "+tt.name+": claim to begin", func(l string) time.Duration {
				claimed, _ := a.claimed(l)
				return a.last(l).from.Sub(claimed.at)
			})
			a.keptClaim()
		})
	}
}

// keptClaim fails the case if a claim changed before work of ours began, or if anybody else
// got a lock that we had claimed. It excuses two ways in which the elector can get it, since
// nobody works meanwhile: see lostClaim.
func (a *arena) keptClaim() {
	a.t.Helper()
	for _, l := range a.locks {
		wrong, excuse := a.lostClaim(l)
		switch {
		case excuse != "":
			a.t.Logf("%s: %s", l, excuse)
		case len(wrong) > 0:
			a.t.Errorf("%s: %s\n%s", l, strings.Join(wrong, "; "), a.story(l))
		}
	}
}

// lostClaim returns what went wrong with a claim, and what excuses that, if anything.
func (a *arena) lostClaim(l string) (wrong []string, excuse string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	claimed, found := a.claimed(l)
	if !found {
		complain("taken without a claim")
	}
	began := a.last(l).from
	for i, s := range a.seen[l] {
		h := holder(s.lease)
		switch {
		case s.at < claimed.at || s.at > began:
		case h != "" && !record.OurForm(h):
			complain("%q took the lock from the claimer", h)
			// If we had released the lock, our annotation would name no holder either.
			before := a.seen[l][i-1]
			switch {
			case holder(before.lease) != "":
			case !strings.Contains(before.lease.Annotations["primacy.dev/holder"], `"identity":""`):
				excuse = "blanked by the elector that was claimed from, and taken by it anew"
			case before.at >= claimed.at.Add(foreignWait()):
				excuse = "released to a better member when the wait was over, and taken by the elector first"
			}
		case h != "" && s.claim() != claimed.claim() && s.claim() != "":
			complain("claim %s became %s", claimed.claim(), s.claim())
		}
	}
	if len(a.spans[l]) != 2 {
		complain("%d spans of work, want the elector's and ours", len(a.spans[l]))
	}
	return wrong, excuse
}

// TestClaimerLeavesTwoElectors checks that, after our claimer has left, a second elector of client-go
// does not lead before the first, from which we claimed the lock, has stopped.
func TestClaimerLeavesTwoElectors(t *testing.T) {
	for name, end := range map[string]func(*party){"leaves": (*party).leave, "is killed": (*party).kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, count(10))
			first := a.elector("client-go-1", func(o *elector.Options) {
				if !long { // longer than the duration that we write
					o.LeaseDuration, o.RenewDeadline = 3*ours().LeaseDuration/2, ours().LeaseDuration
				}
			})
			a.works(first)
			second := a.elector("client-go-2", nil)
			we := a.memberProcess("primacy", outranks)
			a.sees(second, we)
			end(we)
			a.each("client-go leads", func(l string) bool {
				_, found := a.claimed(l)
				h := holder(a.newest(l).lease)
				return found && h != "" && !record.OurForm(h) && a.last(l).till == 0
			})
		})
	}
}

// TestClaimIsBlanked checks that a member writes its claim again and keeps to its wait if somebody blanks
// the claim by hand during the wait, again and again.
func TestClaimIsBlanked(t *testing.T) {
	t.Parallel()
	a := newArena(t, count(5))
	theirs := a.elector("client-go", nil) // must not stand again: it would take the blanked lock
	a.works(theirs)
	we := a.member("primacy", nil, outranks)
	a.each("claimed and stopped", func(l string) bool {
		_, found := a.claimed(l)
		return found && a.last(l).till != 0
	})
	const times = 3
	for i := range times {
		for _, l := range a.locks {
			a.edit(l, func(lease *coordinationv1.Lease) { blank(lease) })
		}
		a.each("written again", func(l string) bool {
			n := 0
			for j, s := range a.seen[l] {
				if j > 0 && record.OurForm(holder(s.lease)) && holder(a.seen[l][j-1].lease) == "" {
					n++
				}
			}
			return n > i
		})
	}
	a.works(we)
	a.notBefore("its last renewal is waited out", a.afterForeign)
	a.keptClaim()
}

// edit changes a Lease as somebody with the permission could by hand.
func (a *arena) edit(lock string, change func(*coordinationv1.Lease)) {
	a.t.Helper()
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		l, err := a.leases.Get(a.t.Context(), lock, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(l)
		_, err = a.leases.Update(a.t.Context(), l, metav1.UpdateOptions{})
		return err
	}); err != nil {
		a.t.Fatal(err)
	}
}

// blank changes a Lease as a release by client-go does.
func blank(l *coordinationv1.Lease) {
	at := metav1.NewMicroTime(time.Now())
	l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds = new(""), new(int32(1))
	l.Spec.AcquireTime, l.Spec.RenewTime = &at, &at
}

// TestCancelledWhileWeClaim checks that we keep the lock if an elector is cancelled in the very
// moment in which we claim it. From client-go 0.34 on the elector then blanks our record, and stops.
func TestCancelledWhileWeClaim(t *testing.T) {
	t.Parallel()
	a := newArena(t, count(60))
	m := newMoment()
	electors := map[string]*party{}
	for _, l := range a.locks {
		p := a.elector("client-go-"+l, func(o *elector.Options) { o.Locks = []string{l} })
		electors[l] = p
	}
	a.each("it works", func(l string) bool { return a.at(l, electors[l]) })
	for i, l := range a.locks {
		m.around[l] = around{electors[l].stop, when(i)}
	}
	we := a.member("primacy", m, outranks)
	a.works(we)
	blanked, released, again := 0, 0, 0
	a.mu.Lock()
	for _, l := range a.locks {
		seen := a.seen[l]
		for i := 1; i < len(seen); i++ {
			switch before, is := holder(seen[i-1].lease), holder(seen[i].lease); {
			case is == "" && record.OurForm(before):
				blanked++
			case is == "":
				released++
			case record.OurForm(is) && before == "" && i > 1 && record.OurForm(holder(seen[i-2].lease)):
				again++
			}
			if is := holder(seen[i].lease); is != "" && !record.OurForm(is) && record.OurForm(holder(seen[i-1].lease)) {
				t.Errorf("%s: %s took it back", l, is)
			}
		}
		spans := slices.DeleteFunc(slices.Clone(a.spans[l]), func(s *span) bool {
			return s.reason == string(machine.ReasonExpired) // on a busy machine our term may end so, and another begin
		})
		if n := len(spans); n != 2 {
			t.Errorf("%s: %d spans of work, want its one and our one", l, n)
		}
	}
	a.mu.Unlock()
	t.Logf("48: of %d cancelled as we claimed, %d blanked our record, which we wrote again %d times, and %d released before our claim", len(a.locks), blanked, again, released)
	if blanked == 0 {
		t.Error("nothing was blanked, so this case shows nothing")
	}
	if again != blanked {
		t.Errorf("blanked %d times, written again %d times", blanked, again)
	}
	a.each("ours", func(l string) bool { return record.OurForm(holder(a.newest(l).lease)) })
}

// moment is a wire that cancels an elector when a member claims the elector's lock: the claim
// is the first update of the lock that passes.
type moment struct {
	next   http.RoundTripper
	mu     sync.Mutex
	around map[string]around
}

type around struct {
	cancel func()
	when   time.Duration // before the claim is sent, or if negative after it was answered
}

// when spreads the moments of cancellation over the time just before and after the claim.
func when(i int) time.Duration {
	return []time.Duration{0, -1, -2, 1, -4, -6, -8, 4, -16, 8}[i%10] * time.Millisecond
}

func newMoment() *moment { return &moment{around: map[string]around{}} }

func (m *moment) wrap(next http.RoundTripper) http.RoundTripper {
	m.next = next
	return m
}

// RoundTrip implements http.RoundTripper.
func (m *moment) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodPut {
		return m.next.RoundTrip(req)
	}
	lock := path.Base(req.URL.Path)
	m.mu.Lock()
	it, found := m.around[lock]
	m.mu.Unlock()
	switch {
	case !found:
		return m.next.RoundTrip(req)
	case it.when >= 0:
		m.cancel(lock)
		wait(req.Context(), it.when)
		return m.next.RoundTrip(req)
	}
	resp, err := m.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusOK {
		wait(req.Context(), -it.when)
		m.cancel(lock)
	}
	return resp, err
}

// cancel cancels the elector of the lock, once.
func (m *moment) cancel(lock string) {
	m.mu.Lock()
	it := m.around[lock]
	delete(m.around, lock)
	m.mu.Unlock()
	it.cancel()
}

// wait lets d pass, or returns when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// TestStolen checks that a member whose lock somebody steals stops as soon as it sees the theft, with
// the reason lost and not for lack of a renewal, and leads again once it has waited out the thief.
func TestStolen(t *testing.T) {
	t.Parallel()
	a := newArena(t, count(10))
	we := a.member("primacy", nil, immediate)
	a.works(we)
	const thief = "thief"
	stolen := map[string]record.Instant{}
	for _, l := range a.locks {
		a.edit(l, func(lease *coordinationv1.Lease) {
			at := metav1.NewMicroTime(time.Now())
			lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new(thief), new(int32(theirs().LeaseDuration/time.Second))
			lease.Spec.AcquireTime, lease.Spec.RenewTime = &at, &at
			lease.Spec.LeaseTransitions = new(*lease.Spec.LeaseTransitions + 1)
			stolen[l] = now()
		})
	}
	a.each("stopped", func(l string) bool { return a.last(l).till != 0 })
	a.took("49: stolen (before the write is sent), we have stopped", func(l string) time.Duration { return a.last(l).till.Sub(stolen[l]) })
	a.took("49: another watcher's sight, we have stopped", func(l string) time.Duration {
		for _, s := range a.seen[l] {
			if holder(s.lease) == thief {
				return a.last(l).till.Sub(s.at)
			}
		}
		return 0
	})
	a.mu.Lock()
	for _, l := range a.locks {
		if got := a.last(l).reason; got != string(machine.ReasonLost) {
			t.Errorf("%s: stopped because %q", l, got)
		}
	}
	a.mu.Unlock()
	a.works(we)
	a.took("49: stolen, the thief is waited out, we lead again", func(l string) time.Duration { return a.last(l).from.Sub(stolen[l]) })
	a.notBefore("the thief is waited out", a.afterForeign)
}
