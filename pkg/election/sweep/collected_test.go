package sweep_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/judge"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

// collection is a member in a Pod, which leads, and another one that waits. The API server of the tests has no garbage
// collector, so the test deletes the sessions that the Pod owns, as one would: by name, on condition of the uid.
type collection struct {
	*crew
	client        *kubernetes.Clientset
	gate          *devcluster.Gate
	line          *line // behind the gate, which breaks only watches
	pod           *corev1.Pod
	first, second *member
}

// line is the way to the API server; no new request passes while it is dead.
type line struct {
	dead atomic.Bool
	next http.RoundTripper
}

func (l *line) wrap(next http.RoundTripper) http.RoundTripper {
	l.next = next
	return l
}

// RoundTrip implements http.RoundTripper.
func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.dead.Load() {
		return nil, errors.New("the line is dead")
	}
	return l.next.RoundTrip(r)
}

// WrappedRoundTripper lets client-go find the transport beneath.
func (l *line) WrappedRoundTripper() http.RoundTripper { return l.next }

const ofFirst = "primacy-edge-first-0"

func newCollection(t *testing.T) *collection {
	c := &collection{crew: newCrew(t), gate: devcluster.NewGate(), line: &line{}}
	var err error
	if c.client, err = kubernetes.NewForConfig(c.cluster.Config); err != nil {
		t.Fatal(err)
	}
	ctx, no := t.Context(), false
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := c.client.CoreV1().ServiceAccounts(c.namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	c.pod, err = c.client.CoreV1().Pods(c.namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "first"},
		Spec:       corev1.PodSpec{AutomountServiceAccountToken: &no, Containers: []corev1.Container{{Name: "primacy", Image: "primacy:dev"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	gated := rest.CopyConfig(c.cluster.Config)
	gated.Wrap(c.gate.Wrap)
	gated.Wrap(c.line.wrap)
	c.first = c.join("first", gated, stopTime, lease.OwnedBy("first", ownedBy(c.pod)))
	c.await(c.begun, "first")
	c.joined(c.first, ofFirst)
	c.second = c.join("second", c.cluster.Config, stopTime)
	c.joined(c.second, "primacy-edge-second-0")
	return c
}

// collect deletes what the Pod owns, and returns how much that was.
func (c *collection) collect() (n int) {
	c.Helper()
	leases := c.client.CoordinationV1().Leases(c.namespace)
	all, err := leases.List(context.Background(), metav1.ListOptions{})
	if err != nil {
		c.Fatal(err)
	}
	for _, l := range all.Items {
		for _, o := range l.OwnerReferences {
			if o.UID != c.pod.UID {
				continue
			}
			if err := leases.Delete(context.Background(), l.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &l.UID}}); err != nil && !apierrors.IsNotFound(err) {
				c.Fatal(err)
			}
			n++
		}
	}
	return n
}

// deletePod begins a deletion in the foreground: the Pod stays until nothing that it owns is left.
func (c *collection) deletePod() {
	c.Helper()
	foreground := metav1.DeletePropagationForeground
	if err := c.client.CoreV1().Pods(c.namespace).Delete(context.Background(), c.pod.Name, metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		c.Fatal(err)
	}
	p, err := c.client.CoreV1().Pods(c.namespace).Get(context.Background(), c.pod.Name, metav1.GetOptions{})
	if err != nil || p.DeletionTimestamp == nil || len(p.Finalizers) == 0 || p.Finalizers[0] != metav1.FinalizerDeleteDependents {
		c.Fatalf("the Pod is not being deleted in the foreground: %v, %v", p.ObjectMeta, err)
	}
}

// overlap ends all members, and is for how long two worked at once.
func (c *collection) overlap() time.Duration {
	c.first.left()
	c.second.left()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range judge.Falling(c.spans) {
		c.Error(f)
	}
	return judge.Overlapping(c.spans)
}

// TestASessionIsCollected checks that nobody works beside a member whose session is deleted before its lease is over, as
// the garbage collector does when it takes the session's Pod for gone.
func TestASessionIsCollected(t *testing.T) {
	t.Run("planted", func(t *testing.T) {
		c := newCollection(t)
		e, err := c.second.store.Get(t.Context(), ofFirst)
		if err != nil {
			t.Fatal(err)
		}
		// A collector that ended the session, in place of deleting it, would say that all work has stopped.
		if _, err := c.second.store.Put(t.Context(), ofFirst, session.EndedRecord(e.Record, "collector", "gone"), e.Version); err != nil {
			t.Fatal(err)
		}
		c.await(c.begun, "second")
		if o := c.overlap(); o <= 0 {
			t.Error("the judge does not see two members at work")
		} else {
			t.Logf("the judge sees two at work for %v", o)
		}
	})
	for what, before := range map[string]func(*collection){
		"while it leads":         func(*collection) {},
		"while its watch is cut": func(c *collection) { c.Cleanup(c.gate.Cut()) },
		"while its watch is cut for a while": func(c *collection) {
			mend := c.gate.Cut()
			c.Cleanup(mend)
			clock.AfterFunc(c.timing.LeaseDuration/2, mend)
		},
		"while it is cut off": func(c *collection) {
			c.line.dead.Store(true)
			c.Cleanup(c.gate.Cut())
			c.Cleanup(func() { c.line.dead.Store(false) })
		},
	} {
		t.Run(what, func(t *testing.T) {
			c := newCollection(t)
			before(c)
			began := clock.Boottime().Now()
			if n := c.collect(); n != 1 {
				t.Fatalf("%d sessions were collected", n)
			}
			c.await(c.told, "first")
			stopped := clock.Boottime().Now()
			again := <-c.begun
			t.Logf("told to stop after %v; %s works after %v", stopped.Sub(began).Round(time.Millisecond), again, clock.Boottime().Now().Sub(began).Round(time.Millisecond))
			if o := c.overlap(); o != 0 {
				t.Errorf("two worked at once for %v", o)
			}
		})
	}
}

// TestAPodIsDeletedInTheForeground checks that nobody works beside a member that drains while its Pod is deleted in the
// foreground. What a Pod owns may then be deleted before the Pod: here its session is, at different moments.
func TestAPodIsDeletedInTheForeground(t *testing.T) {
	for _, after := range []time.Duration{-50 * time.Millisecond, 0, 20 * time.Millisecond, 200 * time.Millisecond, 600 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			c := newCollection(t)
			c.deletePod()
			began := clock.Boottime().Now()
			if after < 0 {
				c.collect()
				clock.Wait(t.Context(), -after)
			}
			c.first.leave()
			if after >= 0 {
				c.await(c.told, "first")
				clock.Wait(t.Context(), after)
				c.collect()
			}
			c.await(c.begun, "second")
			t.Logf("second works after %v", clock.Boottime().Now().Sub(began).Round(time.Millisecond))
			if o := c.overlap(); o != 0 {
				t.Errorf("two worked at once for %v", o)
			}
		})
	}
}
