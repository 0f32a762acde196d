package ctrl_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestManyTerms moves three controllers of two managers back and forth. Each term reconciles all objects, from a warm
// cache; after 100 terms there are as many goroutines as after one.
func TestManyTerms(t *testing.T) {
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	newThings(t, cluster.Config, namespace)
	worked := make(chan notice, 256)
	work := func(m *member, e string) reconcile.Func {
		return func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			if r.Name != "one" {
				return reconcile.Result{}, nil
			}
			err := touch(ctx, m.mgr.GetClient(), e, r, m.name)
			if err == nil && ctx.Err() == nil {
				worked <- notice{m.name, e}
			}
			return reconcile.Result{}, err
		}
	}
	m1, m2 := join(t, cluster.Config, namespace, "m1", "v1", work), join(t, cluster.Config, namespace, "m2", "v2", work)
	const terms = 100
	var after []int
	for i := range terms {
		name, revision := "m1", "v1"
		if i%2 == 1 {
			name, revision = "m2", "v2"
		}
		m1.prefs <- record.Prefer(revision)
		m2.prefs <- record.Prefer(revision)
		ctx := soon(t)
		for seen := map[string]bool{}; len(seen) < len(kinds); {
			n := await(t, ctx, worked, "work of "+name)
			if n.member == name {
				seen[n.election] = true
			}
		}
		if i == 2 || i == 3 || i >= terms-2 { // each manager's first term may leave something that stays
			after = append(after, goroutines(t))
		}
	}
	t.Logf("goroutines after the terms 3, 4, %d, %d: %v", terms-1, terms, after)
	for i := range 2 {
		if more := after[i+2] - after[i]; more >= terms/10 { // one that a term leaves would be there terms/2 times; connections come and go
			t.Errorf("%d goroutines more after %d terms: %v", more, terms-4, after)
		}
	}
	for e := range kinds {
		o := thing(e, namespace, "one")
		if err := m2.mgr.GetAPIReader().Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		if stamp := o.GetLabels()[fence.StampKey(e)]; stamp != fmt.Sprint(m2.status[e].Token()) {
			t.Errorf("%s has the stamp %q, and the last term token %d", e, stamp, m2.status[e].Token())
		}
	}
	for e, s := range m1.status {
		if s.Cycle() < terms/2 {
			t.Errorf("%s: m1 led %d times", e, s.Cycle())
		}
	}
}

// goroutines counts them once their number has come to rest.
func goroutines(t *testing.T) int {
	t.Helper()
	least := runtime.NumGoroutine()
	for range 20 {
		<-clock.NewTimer(100 * time.Millisecond).C
		least = min(least, runtime.NumGoroutine())
	}
	return least
}

// TestManagersClient checks that the manager's own client writes within a Reconcile only, and never on a standby, whose
// cache is warm all the same.
func TestManagersClient(t *testing.T) {
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	newThings(t, cluster.Config, namespace)
	worked := make(chan notice, 256)
	m := join(t, cluster.Config, namespace, "m1", "v1", func(m *member, e string) reconcile.Func {
		return func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			if r.Name == "one" {
				worked <- notice{m.name, e}
			}
			return reconcile.Result{}, nil
		}
	})
	ctx := soon(t)
	for range kinds {
		await(t, ctx, worked, "work")
	}
	standby := join(t, cluster.Config, namespace, "m2", "v1", func(m *member, e string) reconcile.Func {
		return func(context.Context, reconcile.Request) (reconcile.Result, error) {
			t.Errorf("%s reconciles on the standby", e)
			return reconcile.Result{}, nil
		}
	})
	if !standby.mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the standby's cache is empty")
	}
	for _, one := range []*member{m, standby} {
		c := one.mgr.GetClient()
		for e := range kinds {
			o := thing(e, namespace, "one")
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				t.Errorf("%s: read %s: %v", one.name, e, err)
			}
			for what, err := range map[string]error{
				"create": c.Create(ctx, thing(e, namespace, "two")), "update": c.Update(ctx, o),
				"delete": c.Delete(ctx, o), "status": c.Status().Update(ctx, o),
			} {
				if !errors.Is(err, fence.ErrNotLeading) {
					t.Errorf("%s: %s %s outside of a Reconcile: %v", one.name, what, e, err)
				}
			}
		}
	}
}
