package events_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/atomic"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/events"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// book keeps what is written. Events that it does not override cannot be called.
type book struct {
	coreclient.EventInterface

	mu      sync.Mutex
	created []*corev1.Event
	known   map[string]bool
	patched int
	err     error
	takes   time.Duration
}

func (b *book) Events(string) coreclient.EventInterface { return b }

func (b *book) CreateWithEventNamespaceWithContext(ctx context.Context, e *corev1.Event) (*corev1.Event, error) {
	if b.takes > 0 && !clock.Wait(ctx, b.takes) {
		return nil, ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil, b.err
	}
	if b.known[e.Name] {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "events"}, e.Name)
	}
	b.known[e.Name] = true
	b.created = append(b.created, e)
	return e, nil
}

func (b *book) PatchWithEventNamespaceWithContext(_ context.Context, e *corev1.Event, _ []byte) (*corev1.Event, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil && !b.known[e.Name] {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "events"}, e.Name)
	}
	b.patched++
	return e, b.err
}

func (b *book) lines() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.created {
		all = append(all, e.Type+" "+e.Reason+": "+e.Message)
	}
	b.created = nil
	return all
}

// desk has a Recorder at work in a bubble.
type desk struct {
	t           *testing.T
	identity    *atomic.String
	book        *book
	realm       *memory.Realm
	logs        *observer.ObservedLogs
	transitions chan election.ElectionTransition
	told        uint64
	done        chan struct{}
	stop        context.CancelFunc
}

func newDesk(t *testing.T) *desk {
	now := clocktest.Bubble{}
	realm := memory.New(now)
	store := realm.Store()
	if _, err := store.Put(t.Context(), "the-lock", record.Record{Group: "edge", Election: "e"}, record.Version{}); err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.InfoLevel)
	d := &desk{t: t, identity: atomic.NewString("h1_01234567"), book: &book{known: map[string]bool{}}, realm: realm, logs: logs, transitions: make(chan election.ElectionTransition, 100000), done: make(chan struct{})}
	r := events.New(events.Config{
		Events: d.book, Host: "h1", Identity: d.identity.Load, Clock: now, Log: zap.New(core),
		Object: func(name string) (events.Object, bool) {
			return events.Object{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: "ns", Name: "the-lock" + strings.TrimPrefix(name, "e"), Store: store}, name != "gone"
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	d.stop = cancel
	go func() { // joined by end
		defer close(d.done)
		r.Run(ctx, d.transitions)
	}()
	return d
}

func (d *desk) tell(name string, t election.Transition) {
	t.At = time.Now()
	d.told++
	d.transitions <- election.ElectionTransition{Election: name, Number: d.told, Transition: t}
}

// settle waits until all Events are written that must be by then.
func (d *desk) settle() {
	time.Sleep(2 * time.Second)
	synctest.Wait()
}

func (d *desk) end() {
	close(d.transitions)
	<-d.done
	d.stop()
}

// TestWords checks what Events say, and on what.
func TestWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		lead := election.Transition{Event: election.EventRole, Role: election.Leading, Reason: "lock taken", Token: 7, Leaderless: 76 * time.Millisecond}
		began := time.Now()
		d.tell("e", lead)
		d.settle()
		e := d.book.created[0]
		o := e.InvolvedObject
		if o.Kind != "Lease" || o.APIVersion != "coordination.k8s.io/v1" || o.Namespace != "ns" || o.Name != "the-lock" || o.UID == "" {
			t.Errorf("on %+v", o)
		}
		if e.Namespace != "ns" || e.Source.Component != "primacy" || e.Source.Host != "h1" || e.ReportingController == "" || !e.FirstTimestamp.Time.Equal(began) {
			t.Errorf("%+v", e)
		}
		for _, tr := range []election.Transition{
			{Event: election.EventRole, Role: election.Draining, Reason: "better member is ready", Token: 7},
			{Event: election.EventRole, Role: election.Following, Reason: "released", Token: 7},
			{Event: election.EventLeader, Role: election.Following},
			{Event: election.EventLost, Role: election.Draining, Reason: "not renewed in time", Token: 8},
			{Event: election.EventJeopardy, Role: election.Leading, Token: 8},
			{Event: election.EventFailOpen, Role: election.Leading, Token: 8},
			{Event: election.EventRegained, Role: election.Leading, Token: 8},
			{Event: election.EventRole, Role: election.Claiming, Reason: "lock claimed from a foreign holder"},
		} {
			d.tell("e", tr)
			d.settle()
		}
		d.tell("gone", lead)
		d.end()
		want := []string{
			"Normal Leading: h1_01234567 leads: lock taken, term 7, after 76ms without a leader",
			"Normal Draining: h1_01234567 stops its work: better member is ready, term 7",
			"Warning LeadershipLost: h1_01234567 lost its term: not renewed in time, term 8",
			"Warning RenewalsFail: h1_01234567 leads, but its renewals fail, term 8",
			"Warning FailingOpen: h1_01234567 works on although its renewals fail; another may work as well, term 8",
			"Normal RenewalsRegained: h1_01234567 leads, and its renewals succeed again, term 8",
			"Normal Claiming: h1_01234567 waits until the former holder, which is not Primacy, has stopped: lock claimed from a foreign holder",
		}
		if got := d.book.lines(); !slices.Equal(got, want) {
			t.Errorf("got\n%s", strings.Join(got, "\n"))
		}
	})
}

// TestCalm checks that Events come 2 s after their transitions, so that they are not in the way of other elections, and that warnings
// and a member that leaves do not wait.
func TestCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		lead := election.Transition{Event: election.EventRole, Role: election.Leading, Reason: "lock taken"}
		d.tell("e-1", lead)
		time.Sleep(time.Second)
		d.tell("e-2", lead)
		d.tell("e-1", election.Transition{Event: election.EventJeopardy, Role: election.Leading})
		written := func(when string, want ...string) {
			synctest.Wait()
			var got []string
			d.book.mu.Lock()
			defer d.book.mu.Unlock()
			for _, e := range d.book.created {
				got = append(got, e.InvolvedObject.Name+" "+e.Reason)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q", when, got)
			}
		}
		written("after 1 s", "the-lock-1 RenewalsFail")
		time.Sleep(time.Second)
		written("after 2 s", "the-lock-1 RenewalsFail", "the-lock-1 Leading")
		began := time.Now()
		d.end()
		written("at the end", "the-lock-1 RenewalsFail", "the-lock-1 Leading", "the-lock-2 Leading")
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v to end", took)
		}
	})
}

// TestWhoLed checks that an Event names the identity that the member had at its transition: it may have joined anew since.
func TestWhoLed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.tell("e", election.Transition{Event: election.EventRole, Role: election.Leading, Reason: "lock taken"})
		synctest.Wait()
		d.identity.Store("h1_89abcdef")
		d.settle()
		d.end()
		if got := d.book.lines(); len(got) != 1 || !strings.Contains(got[0], "h1_01234567 leads") {
			t.Errorf("got %q", got)
		}
	})
}

// TestLockMadeAnew checks that Events of a term are on the present lock: its UID is new if somebody deleted the lock.
func TestLockMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		lead := election.Transition{Event: election.EventRole, Role: election.Leading, Reason: "lock taken"}
		d.tell("e", lead)
		d.settle()
		if !d.realm.Delete("the-lock") {
			t.Fatal("there was no lock")
		}
		if _, err := d.realm.Write("the-lock", record.Record{Group: "edge", Election: "e"}, record.Version{}); err != nil {
			t.Fatal(err)
		}
		d.tell("e", lead)
		d.tell("e", election.Transition{Event: election.EventJeopardy, Role: election.Leading})
		d.end()
		present := d.realm.Read("the-lock").Version.UID
		for i, e := range d.book.created[1:] {
			if string(e.InvolvedObject.UID) != present {
				t.Errorf("Event %d of the second term is on %s, and the lock is %s", i, e.InvolvedObject.UID, present)
			}
		}
	})
}

// TestLimitOfTheProcess checks that ten thousand moves write few Events, and that people learn of the rest.
func TestLimitOfTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		lead := election.Transition{Event: election.EventRole, Role: election.Leading, Reason: "lock taken"}
		for i := range 10000 {
			d.tell(fmt.Sprintf("e-%d", i), lead)
		}
		d.settle()
		if n := len(d.book.lines()); n != events.DefaultLimit.Burst {
			t.Errorf("%d Events at once", n)
		}
		time.Sleep(20 * time.Second)
		for i := range 200 {
			d.tell(fmt.Sprintf("e-%d", 20000+i), lead)
		}
		d.settle()
		if n := len(d.book.lines()); n != events.DefaultLimit.Burst {
			t.Errorf("%d Events after 20 s", n)
		}
		d.end()
		var left int64
		for _, l := range d.logs.All() {
			left += l.ContextMap()["leftOut"].(int64)
		}
		if left != 10000+200-2*int64(events.DefaultLimit.Burst) || d.logs.Len() != 2 {
			t.Errorf("logged %d left out in %d lines", left, d.logs.Len())
		}
	})
}

// TestLeftOut checks that people soon learn of what was left out, also if all is quiet afterwards, and of transitions that were
// dropped while a write hung.
func TestLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		told := func(lines int, left int64) {
			t.Helper()
			all := d.logs.All()
			if len(all) != lines || all[lines-1].ContextMap()["leftOut"] != left {
				t.Errorf("logged %v, want %d lines, and %d left out in the last one", all, lines, left)
			}
		}
		for range events.DefaultLimit.Burst + 7 {
			d.tell("e", election.Transition{Event: election.EventLost, Role: election.Draining})
		}
		time.Sleep(11 * time.Second)
		told(1, 7)
		d.told += 30
		d.tell("e", election.Transition{Event: election.EventLeader})
		time.Sleep(11 * time.Second)
		told(2, 30)
		d.end()
		told(2, 30)
	})
}

// TestAlike checks that client-go's correlator combines Events that are alike, and limits those of one lock.
func TestAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		for i := range 60 {
			d.tell("e", election.Transition{Event: election.EventRole, Role: election.Leading, Reason: "lock taken", Token: record.Token(i)})
			time.Sleep(time.Second)
		}
		d.end()
		if n := len(d.book.created); n > 12 || n+d.book.patched > 26 || d.book.patched == 0 {
			t.Errorf("%d Events, and %d patches", n, d.book.patched)
		}
	})
}

// TestWithoutTheRight checks that a member without the right writes nothing, asks rarely, and is silent: its start has said so.
func TestWithoutTheRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		denied := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("no"))
		d.book.err = denied
		lead := election.Transition{Event: election.EventRole, Role: election.Leading, Reason: "lock taken"}
		d.tell("e", lead)
		d.settle()
		d.book.err = nil
		d.tell("e", lead)
		d.settle()
		if got := d.book.lines(); len(got) != 0 || d.logs.Len() != 0 {
			t.Errorf("wrote %q, logged %v", got, d.logs.All())
		}
		time.Sleep(11 * time.Minute)
		d.tell("e", lead)
		d.settle()
		if got := d.book.lines(); len(got) != 1 {
			t.Errorf("wrote %q once it may", got)
		}
		d.book.err = denied
		d.tell("e-2", lead)
		d.tell("e-3", lead)
		d.end()
		if d.logs.Len() != 1 {
			t.Errorf("logged %v when the right was taken away", d.logs.All())
		}
	})
}

// TestSlowServer checks that a server that does not answer holds nobody up, neither transitions nor the end.
func TestSlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.book.takes = time.Hour
		for i := range 40 {
			d.tell(fmt.Sprintf("e-%d", i), election.Transition{Event: election.EventRole, Role: election.Leading})
		}
		time.Sleep(12 * time.Second)
		began := time.Now()
		d.stop()
		d.end()
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v to end", took)
		}
	})
}
