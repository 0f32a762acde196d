package sweep_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/judge"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/sweep"
)

// restartsVariable sets how many restarts a test makes.
const restartsVariable = "PRIMACY_RESTARTS"

// restarts is how many that are.
func restarts(t *testing.T, usually int) int {
	t.Helper()
	s := os.Getenv(restartsVariable)
	if s == "" {
		return usually
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// tally counts the requests of one user that delete something.
type tally struct {
	next    http.RoundTripper
	deleted atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c *tally) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.next.RoundTrip(r)
	if err == nil && r.Method == http.MethodDelete && answer.StatusCode == http.StatusOK {
		c.deleted.Add(1)
	}
	return answer, err
}

// WrappedRoundTripper lets client-go find the transport beneath.
func (c *tally) WrappedRoundTripper() http.RoundTripper { return c.next }

// user is a client configuration of a user with the given rights to Leases, and counts what the user deletes.
func (c *crew) user(name string, verbs ...string) (*rest.Config, *tally) {
	c.Helper()
	client, err := kubernetes.NewForConfig(c.cluster.Config)
	if err != nil {
		c.Fatal(err)
	}
	ctx, roles := c.Context(), client.RbacV1()
	meta := metav1.ObjectMeta{Name: name, Namespace: c.namespace}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: verbs}}
	if _, err := roles.Roles(c.namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
	if _, err := roles.RoleBindings(c.namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
	}, metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
	counts := &tally{}
	config := rest.CopyConfig(c.cluster.Config)
	config.Impersonate.UserName = name
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		counts.next = next
		return counts
	})
	return config, counts
}

var elects = []string{"get", "list", "watch", "create", "update"}

// TestRestartsUnderNewNames counts the Leases that members leave which come back under new names, beside one member that
// stays: with a Sweeper that may delete Leases, and with one that may not. Every third of those members dies.
func TestRestartsUnderNewNames(t *testing.T) {
	restarts := restarts(t, 60)
	const most = 8
	for _, tt := range []struct {
		what          string
		verbs         []string
		least, atMost int
		// patience is how long the Sweeper gets once the last member has gone.
		patience time.Duration
	}{
		{"with the right to delete", append([]string{"delete"}, elects...), 1, most + 3, patience},
		{"without it", elects, restarts + 1, restarts + 3, 20 * time.Second},
	} {
		t.Run(tt.what, func(t *testing.T) {
			c := newCrew(t)
			keeping, kept := c.user("keeper", tt.verbs...)
			coming, came := c.user("comer", elects...)
			keeper := c.join("stays", keeping, 0)
			c.await(c.begun, "stays")
			c.joined(keeper, "primacy-edge-stays-0")
			ctx, cancel := context.WithCancel(context.Background())
			swept := make(chan struct{})
			s := &sweep.Sweeper{
				Group: "edge", Sessions: keeper.store, Clock: clock.Boottime(), Log: zap.NewNop(), Every: 2 * time.Second, Most: most,
			}
			go func() {
				s.Run(ctx)
				close(swept)
			}()
			defer func() {
				cancel()
				<-swept
			}()
			peak, began := 0, clock.Boottime().Now()
			for n := range restarts {
				c.restart(n, coming, keeper)
				peak = max(peak, c.leases(keeper))
			}
			took := clock.Boottime().Now().Sub(began)
			now := c.settle(keeper, most+3, tt.patience)
			t.Logf("%d restarts in %v: at most %d Leases at a time, %d in the end; %d deleted by the member that stays, %d by others",
				restarts, took.Round(time.Second), peak, now, kept.deleted.Load(), came.deleted.Load())
			if now < tt.least || now > tt.atMost {
				t.Errorf("%d Leases are left, want %d to %d", now, tt.least, tt.atMost)
			}
			if came.deleted.Load() != 0 || kept.deleted.Load() < int64(restarts+2-tt.atMost) {
				t.Error("somebody else deleted them")
			}
			keeper.left()
			c.mu.Lock()
			defer c.mu.Unlock()
			if len(c.spans) != 1 || judge.Overlapping(c.spans) != 0 {
				t.Errorf("the member that stays did not lead all the time: %v", c.spans)
			}
		})
	}
}

// restart has a member come and go; every third one dies, and leaves its session as it is.
func (c *crew) restart(n int, config *rest.Config, keeper *member) {
	c.Helper()
	name := fmt.Sprintf("m%d", n)
	if n%3 == 0 {
		e := live("primacy-edge-"+name+"-0", name+"_00000001", 0)
		e.Record.Duration, e.Record.Mark.Duration, e.Record.Member.LongestLease = c.timing.LeaseDuration, c.timing.LeaseDuration, 5
		if _, err := keeper.store.Put(c.Context(), e.Name, *e.Record, record.Version{}); err != nil {
			c.Fatal(err)
		}
		return
	}
	m := c.join(name, config, 0)
	c.joined(m, "primacy-edge-"+name+"-0")
	m.left()
}

// leases is how many Leases there are.
func (c *crew) leases(m *member) int {
	c.Helper()
	all, err := sweep.List(c.Context(), m.store)
	if err != nil {
		c.Fatal(err)
	}
	return len(all)
}

// settle waits until there are no more Leases than that; at most for that long.
func (c *crew) settle(m *member, atMost int, patience time.Duration) (now int) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	for now = c.leases(m); now > atMost; now = c.leases(m) {
		if !clock.Wait(ctx, 200*time.Millisecond) {
			return now
		}
	}
	return now
}
