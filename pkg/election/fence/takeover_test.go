package fence_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/fence/policy"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// taking tells of each committed write that begins a term, with the lock's new version.
type taking struct {
	lock.Store
	took chan<- taken
}

type taken struct {
	at      time.Time
	version uint64
	token   record.Token
}

func (s *taking) Put(ctx context.Context, name string, r record.Record, replaces record.Version) (record.Version, error) {
	v, err := s.Store.Put(ctx, name, r, replaces)
	if err == nil && name == "a" && r.Holder != "" && !replaces.IsZero() {
		select {
		case s.took <- taken{time.Now(), v.Revision, r.Token}:
		case <-ctx.Done(): // nobody reads any more
		}
	}
	return v, err
}

func versionOf(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// freezer is behind a gate. A request that it holds has passed the gate, and does not notice that its term ends: as in a
// process that is frozen between the check and the connection.
type freezer struct {
	next http.RoundTripper
	mu   sync.Mutex
	held chan struct{} // of the next request; nil to hold none
}

func (f *freezer) RoundTrip(req *http.Request) (*http.Response, error) {
	f.mu.Lock()
	held := f.held
	f.held = nil
	f.mu.Unlock()
	if held != nil {
		held <- struct{}{} // passed the gate
		<-held             // the process goes on
		req = req.WithContext(context.WithoutCancel(req.Context()))
	}
	return f.next.RoundTrip(req)
}

func (f *freezer) WrappedRoundTripper() http.RoundTripper { return f.next }

// writer is a member's client, in three ways.
type writer struct {
	*party
	bare, gated *coreclient.CoreV1Client
	freezer     *freezer
}

// outcome counts stale writes of one way.
type outcome struct {
	tried, accepted int
	latest          time.Duration // after the takeover, of an accepted one
}

func (o *outcome) add(other outcome) {
	o.tried += other.tried
	o.accepted += other.accepted
	o.latest = max(o.latest, other.latest)
}

// woken is for how long a former leader writes after it was woken, and leastWrites how often it does at least, however busy the machine is.
const woken, leastWrites = 120 * time.Millisecond, 10

// mostLate is after how long nothing stale may pass the policy. That holds on a machine that is not too busy, so it is
// checked only where somebody asks for a number of takeovers.
const mostLate = 50 * time.Millisecond

// TestStaleWrites moves leadership back and forth. A former leader that does not know of it wakes at each takeover, and
// writes at once and for a while. The test counts the stale writes that the API server accepts: the object then has a
// higher version than the lock got by the takeover. PRIMACY_TAKEOVERS says how many takeovers there are; then the test is made
// with both kinds of renewal.
func TestStaleWrites(t *testing.T) {
	takeovers, renewals := 20, []record.Renewal{record.RenewalSession}
	if s := os.Getenv("PRIMACY_TAKEOVERS"); s != "" {
		takeovers = int(versionOf(s)) // #nosec G115 -- a person's number
		renewals = append(renewals, record.RenewalRecord)
	}
	for _, renewal := range renewals {
		t.Run(string(renewal), func(t *testing.T) { staleWrites(t, takeovers, renewal) })
	}
}

func staleWrites(t *testing.T, takeovers int, renewal record.Renewal) {
	real := devcluster.New(t) // a policy follows locks only if none was deleted before (docs/fencing.md)
	namespace := real.Namespace(t)
	user := "system:serviceaccount:" + namespace + ":primacy"
	config := rest.CopyConfig(real.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	cluster := &devcluster.Cluster{Config: config}

	took, began := make(chan taken, 16), make(chan string, 16)
	timing, _ := record.Profile(record.DefaultProfile)
	timing.PreemptDelay, timing.MinHold = 0, 0
	join := func(name, revision string) *writer {
		p := joinCluster(t, cluster, namespace, name, revision, partyConfig{
			timing: timing, renewal: renewal,
			locks: func(of lock.Store) lock.Store { return &taking{of, took} },
			runner: election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
				began <- name
				<-ctx.Done()
				return nil
			}),
		})
		w := &writer{party: p, freezer: &freezer{}}
		w.bare = coreOf(t, config, nil)
		w.gated = coreOf(t, config, func(c *rest.Config) {
			c.Wrap(func(next http.RoundTripper) http.RoundTripper { w.freezer.next = next; return w.freezer })
			c.ContentType = "application/json"
			c.Wrap(p.gate.Stamping)
		})
		return w
	}
	first := join("m1", "stable")
	if got := <-began; got != "m1" {
		t.Fatalf("%s leads", got)
	}
	establishFence(t, real.Config, first, policy.Fence{
		Group: "edge", Election: "a", Lock: policy.LockRef{Kind: policy.Lease, Namespace: namespace, Name: "a"},
		Writers: []string{user}, Resources: []schema.GroupResource{{Resource: "configmaps"}},
	}, namespace)
	for len(took) > 0 {
		<-took
	}
	second := join("m2", "canary")
	for _, name := range []string{"policed", "gated"} {
		if _, err := first.gated.ConfigMaps(namespace).Create(t.Context(), configMap(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := first.bare.Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "open"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	var open, policed, gated outcome
	former, next := first, second
	for i := range takeovers + 1 { // the first one does not count
		frozen := make(chan struct{})
		former.freezer.mu.Lock()
		former.freezer.held = frozen
		former.freezer.mu.Unlock()
		token := former.status.Token()
		type answer struct {
			version uint64
			err     error
		}
		late := make(chan answer, 1)
		go func() {
			o, err := former.gated.ConfigMaps(namespace).Patch(context.Background(), "gated", types.MergePatchType, []byte(`{"data":{"by":"frozen"}}`), metav1.PatchOptions{})
			late <- answer{versionIn(o, err), err}
		}()
		<-frozen
		to := record.Prefer([]string{"canary", "stable"}[i%2])
		former.prefs <- to
		next.prefs <- to
		takeover := <-took
		for takeover.token <= token { // a renewal
			takeover = <-took
		}
		close(frozen)
		var wg sync.WaitGroup
		wg.Go(func() {
			patch := stale(token)
			open.add(insist(takeover, func() (uint64, error) {
				o, err := former.bare.Secrets(namespace).Patch(context.Background(), "open", types.MergePatchType, patch(), metav1.PatchOptions{})
				return versionIn(o, err), err
			}))
		})
		wg.Go(func() {
			patch := stale(token)
			policed.add(insist(takeover, func() (uint64, error) {
				o, err := former.bare.ConfigMaps(namespace).Patch(context.Background(), "policed", types.MergePatchType, patch(), metav1.PatchOptions{})
				return versionIn(o, err), err
			}))
		})
		wg.Go(func() {
			got := <-late
			gated.add(outcomeOf(takeover, got.version, got.err))
			gated.add(insist(takeover, func() (uint64, error) {
				<-clock.NewTimer(time.Millisecond).C // refusals take no time at all
				o, err := former.gated.ConfigMaps(namespace).Patch(context.Background(), "gated", types.MergePatchType, []byte(`{"data":{"by":"gated"}}`), metav1.PatchOptions{})
				return versionIn(o, err), err
			}))
		})
		wg.Wait()
		if got := <-began; got != next.name {
			t.Fatalf("takeover %d: %s leads", i, got)
		}
		if i == 0 {
			awaitRefusal(t, former, namespace, token)
			open, policed, gated = outcome{}, outcome{}, outcome{}
		}
		for len(took) > 0 {
			<-took // renewals
		}
		former, next = next, former
	}
	for _, way := range []struct {
		name string
		outcome
	}{{"without policy", open}, {"with policy", policed}, {"with gate and policy", gated}} {
		t.Logf("%s: %d of %d stale writes accepted in %d takeovers, the last %v after the takeover", way.name, way.accepted, way.tried, takeovers, way.latest)
	}
	if open.accepted == 0 || open.latest <= mostLate {
		t.Error("without the policy, too few stale writes were accepted to show anything")
	}
	if policed.tried < takeovers || gated.tried < takeovers || policed.accepted > policed.tried/2 || gated.accepted > gated.tried/2 {
		t.Error("most stale writes passed the policy, or none were tried")
	}
	if asked := os.Getenv("PRIMACY_TAKEOVERS") != ""; asked && max(policed.latest, gated.latest) > mostLate {
		t.Errorf("stale writes passed the policy later than %v after the takeover", mostLate)
	}
	cost(t, former, namespace)
}

// awaitRefusal waits until the policy refuses a writer's token. An API server that enforces a policy need not follow the
// lock (docs/fencing.md).
func awaitRefusal(t *testing.T, w *writer, namespace string, token record.Token) {
	t.Helper()
	patch := stale(token)
	for range 1200 {
		if _, err := w.bare.ConfigMaps(namespace).Patch(t.Context(), "policed", types.MergePatchType, patch(), metav1.PatchOptions{}); apierrors.IsForbidden(err) {
			return
		}
		<-clock.NewTimer(50 * time.Millisecond).C
	}
	t.Fatal("the policy does not follow the lock")
}

func versionIn(o metav1.Object, err error) uint64 {
	if err != nil {
		return 0
	}
	return versionOf(o.GetResourceVersion())
}

// stale makes patches with the token of an earlier term, each of which changes the object.
func stale(token record.Token) func() []byte {
	n := 0
	return func() []byte {
		n++
		return fmt.Appendf(nil, `{"metadata":{"labels":{"fence.primacy.dev/a":"%d","n":"%d"}}}`, token, n)
	}
}

// insist writes again and again.
func insist(since taken, write func() (uint64, error)) (all outcome) {
	for all.tried < leastWrites || time.Since(since.at) < woken {
		version, err := write()
		all.add(outcomeOf(since, version, err))
	}
	return all
}

func outcomeOf(since taken, version uint64, err error) outcome {
	switch {
	case err == nil && version > since.version:
		return outcome{1, 1, time.Since(since.at)}
	case err == nil: // accepted before the takeover
		return outcome{tried: 1}
	case errors.Is(err, fence.ErrNotLeading), apierrors.IsForbidden(err):
		return outcome{tried: 1}
	}
	panic(err)
}

// cost logs what a write takes in each way.
func cost(t *testing.T, leader *writer, namespace string) {
	t.Helper()
	const n = 200
	took := map[string][]time.Duration{}
	patch := stale(leader.status.Token())
	for range n {
		for _, way := range []struct {
			name  string
			write func() error
		}{
			{"without policy", func() error {
				_, err := leader.bare.Secrets(namespace).Patch(t.Context(), "open", types.MergePatchType, patch(), metav1.PatchOptions{})
				return err
			}},
			{"with policy", func() error {
				_, err := leader.bare.ConfigMaps(namespace).Patch(t.Context(), "policed", types.MergePatchType, patch(), metav1.PatchOptions{})
				return err
			}},
			{"with gate and policy", func() error {
				_, err := leader.gated.ConfigMaps(namespace).Patch(t.Context(), "gated", types.MergePatchType, patch(), metav1.PatchOptions{})
				return err
			}},
		} {
			began := time.Now()
			if err := way.write(); err != nil {
				t.Fatalf("%s: %v", way.name, err)
			}
			took[way.name] = append(took[way.name], time.Since(began))
		}
	}
	for name, all := range took {
		slices.Sort(all)
		t.Logf("a write %s: p50 %v, p95 %v", name, all[n/2], all[n*95/100])
	}
}

func coreOf(t *testing.T, config *rest.Config, with func(*rest.Config)) *coreclient.CoreV1Client {
	t.Helper()
	config = rest.CopyConfig(config)
	if with != nil {
		with(config)
	}
	c, err := coreclient.NewForConfigAndClient(config, connected(t, config))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// connected is a client for HTTP whose idle connections are closed after the test.
func connected(t *testing.T, config *rest.Config) *http.Client {
	t.Helper()
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(h.Transport) })
	return h
}
