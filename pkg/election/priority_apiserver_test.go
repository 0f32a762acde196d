package election_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions/file"
	"github.com/primacy-dev/primacy/pkg/revisions/webhook"
)

// stage is one election on the real API server. Its members read the preferred revision from a label of
// a MutatingWebhookConfiguration, and report what happens, in order.
type stage struct {
	*testing.T
	cluster   *devcluster.Cluster
	namespace string
	kind      string
	timing    record.Timing
	hooks     admissionclient.MutatingWebhookConfigurationInterface
	client    *admissionclient.AdmissionregistrationV1Client
	label     webhook.Label
	judge     *judge
	// began receives the names of members whose work began, draining the names of members told to stop, and
	// seen the preferences that any member saw.
	began, draining chan string
	seen            chan string
	// hold, unless nil, keeps work from ending until it is closed.
	mu   sync.Mutex
	hold chan struct{}
}

const stageWait = 60 * time.Second

func newStage(t *testing.T, kind string) *stage {
	t.Helper()
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	client, err := admissionclient.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{
		T: t, cluster: cluster, namespace: namespace, kind: kind, client: client, hooks: client.MutatingWebhookConfigurations(),
		label: webhook.Label{Name: namespace + "-default", Label: "example.org/rev"}, judge: newJudge(),
		began: make(chan string, 256), draining: make(chan string, 256), seen: make(chan string, 4096),
	}
	s.timing, _ = record.Profile(record.DefaultProfile)
	s.timing.PreemptDelay, s.timing.MinHold = 0, 0
	t.Cleanup(func() {
		err := s.hooks.Delete(context.WithoutCancel(t.Context()), s.label.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
		for _, o := range s.judge.overlaps() {
			t.Error(o)
		}
	})
	return s
}

// prefer sets the label; an empty revision removes it.
func (s *stage) prefer(revision string) {
	s.Helper()
	hook, err := s.hooks.Get(s.Context(), s.label.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		hook = &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: s.label.Name}}
		hook, err = s.hooks.Create(s.Context(), hook, metav1.CreateOptions{})
	}
	if err == nil {
		hook.Labels = map[string]string{}
		if revision != "" {
			hook.Labels[s.label.Label] = revision
		}
		_, err = s.hooks.Update(s.Context(), hook, metav1.UpdateOptions{})
	}
	if err != nil {
		s.Fatal(err)
	}
}

// noting tells the stage what a member sees.
type noting struct {
	election.Preferences
	seen chan<- string
}

func (n noting) Watch(ctx context.Context, deliver func(election.Preference)) error {
	return n.Preferences.Watch(ctx, func(p election.Preference) {
		deliver(p)
		n.seen <- p.Digest()
	})
}

func (s *stage) join(name, revision string, at record.Location, source election.Preferences) *member {
	s.Helper()
	leases, err := lease.NewClient(s.cluster.Config)
	if err != nil {
		s.Fatal(err)
	}
	if source == nil {
		source = webhook.New(s.client, s.label, nil)
	}
	m := &member{name: name, done: make(chan error, 1), status: map[string]*election.Status{}}
	m.manager, err = election.NewManager(election.Config{
		Group: "edge", Host: name, Member: election.Member{Revision: revision, Location: at}, Locks: lease.In(leases, s.namespace),
		Preferences: noting{source, s.seen}, Timing: s.timing, Log: zap.NewNop(),
	})
	if err != nil {
		s.Fatal(err)
	}
	spec := election.Spec{Name: "a", Bootstrap: machine.BootstrapImmediate}
	if s.kind == "ConfigMap" {
		maps, err := configmap.NewClient(s.cluster.Config)
		if err != nil {
			s.Fatal(err)
		}
		spec.Locks = configmap.In(maps, s.namespace)
	}
	inner := s.judge.runner(name, 0)
	m.status["a"], err = m.manager.Add(spec, election.RunnerFunc(func(ctx context.Context, term election.Term) error {
		s.began <- name
		go func() { // ends with the term
			<-ctx.Done()
			s.draining <- name
		}()
		err := inner.Run(ctx, term)
		s.mu.Lock()
		hold := s.hold
		s.mu.Unlock()
		if hold != nil {
			<-hold
		}
		return err
	}))
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	m.stop = cancel
	follows := m.status["a"].Watch(ctx)
	go func() { m.done <- m.manager.Run(ctx) }()
	for m.status["a"].Leader().Identity == "" {
		select {
		case <-follows:
		case <-clock.NewTimer(stageWait).C:
			s.Fatalf("%s never saw a leader", name)
		}
	}
	return m
}

// next returns whose work begins next.
func (s *stage) next(want string) {
	s.Helper()
	select {
	case got := <-s.began:
		if got != want {
			s.Fatalf("%s leads, want %s", got, want)
		}
	case <-clock.NewTimer(stageWait).C:
		s.Fatalf("nobody began, want %s", want)
	}
}

// same checks that nobody's work has begun since the last call of next.
func (s *stage) same() {
	s.Helper()
	select {
	case got := <-s.began:
		s.Fatalf("%s leads, want no move", got)
	default:
	}
}

// TestPriorityOnTheAPIServer moves leadership among members by priority, with locks of both kinds, and
// the preferred revision on a label of a cluster object.
func TestPriorityOnTheAPIServer(t *testing.T) {
	for _, kind := range []string{"Lease", "ConfigMap"} {
		t.Run(kind, func(t *testing.T) {
			t.Run("31 no preference", func(t *testing.T) {
				s := newStage(t, kind)
				m1 := s.join("m1", "red", record.Remote, nil)
				s.next("m1")
				m2 := s.join("m2", "red", record.Local, nil)
				s.next("m2")
				m3 := s.join("m3", "red", record.Remote, nil)
				s.same()
				m3.leave(t)
				m1.leave(t)
				s.same()
				m2.leave(t)
			})
			t.Run("32 the preferred revision", func(t *testing.T) {
				s := newStage(t, kind)
				s.prefer("red")
				m1 := s.join("m1", "green", record.Local, nil)
				s.next("m1")
				m2 := s.join("m2", "red", record.Local, nil)
				s.next("m2")
				m3 := s.join("m3", "red", record.Local, nil)
				m4 := s.join("m4", "green", record.Local, nil)
				s.same()
				m1.leave(t)
				m3.leave(t)
				m4.leave(t)
				s.same()
				m2.leave(t)
			})
			t.Run("33 it leaves and returns", func(t *testing.T) {
				s := newStage(t, kind)
				s.prefer("red")
				m1 := s.join("m1", "green", record.Local, nil)
				s.next("m1")
				m2 := s.join("m2", "red", record.Local, nil)
				s.next("m2")
				m2.leave(t)
				s.next("m1")
				m2 = s.join("m2b", "red", record.Local, nil)
				s.next("m2b")
				m1.leave(t)
				s.same()
				m2.leave(t)
			})
			t.Run("34 remote and local", func(t *testing.T) {
				s := newStage(t, kind)
				s.prefer("red")
				m1 := s.join("m1", "green", record.Remote, nil)
				s.next("m1")
				m2 := s.join("m2", "red", record.Remote, nil)
				s.next("m2")
				m3 := s.join("m3", "red", record.Local, nil)
				s.next("m3")
				m1.leave(t)
				m2.leave(t)
				s.same()
				m3.leave(t)
			})
			t.Run("36 there and back", func(t *testing.T) {
				s := newStage(t, kind)
				s.prefer("green")
				m1 := s.join("m1", "green", record.Local, nil)
				s.next("m1")
				m2 := s.join("m2", "red", record.Local, nil)
				hold := make(chan struct{})
				s.mu.Lock()
				s.hold = hold
				s.mu.Unlock()
				s.sees("green", 2)
				s.prefer("red")
				if who := <-s.draining; who != "m1" {
					t.Fatalf("%s is told to stop", who)
				}
				s.sees("red", 2)
				s.prefer("green")
				s.sees("green", 2)
				s.mu.Lock()
				s.hold = nil
				s.mu.Unlock()
				close(hold)
				s.next("m1") // it stopped, so it is a new term, and the only one
				s.same()
				m2.leave(t)
				s.same()
				m1.leave(t)
			})
		})
	}
}

// sees waits until n members have seen the preference.
func (s *stage) sees(revision string, members int) {
	s.Helper()
	for members > 0 {
		select {
		case got := <-s.seen:
			if got == revision {
				members--
			}
		case <-clock.NewTimer(stageWait).C:
			s.Fatalf("members never saw %s", revision)
		}
	}
}

// TestFlappingOnTheAPIServer checks on the real API server that a default that changes every second moves
// an election at most once per minHold. The test takes a minute, so only PRIMACY_LONG runs it.
func TestFlappingOnTheAPIServer(t *testing.T) {
	if os.Getenv("PRIMACY_LONG") == "" {
		t.Skip("takes a minute; PRIMACY_LONG=1 runs it")
	}
	s := newStage(t, "Lease")
	s.timing.MinHold = 10 * time.Second
	s.prefer("green")
	m1, m2 := s.join("m1", "green", record.Local, nil), s.join("m2", "red", record.Local, nil)
	before := s.judge.terms()
	for i := range 60 {
		s.prefer([]string{"red", "green"}[i%2])
		clock.Wait(t.Context(), time.Second)
	}
	moves := s.judge.terms() - before
	t.Logf("%d moves in 60 s of flapping at 1 Hz, minHold %v, preemptDelay %v", moves, s.timing.MinHold, s.timing.PreemptDelay)
	if moves < 1 || moves > 7 { // at 0 s, 10 s, ... and 60 s
		t.Errorf("%d moves in a minute with minHold %v", moves, s.timing.MinHold)
	}
	m1.leave(t)
	m2.leave(t)
}

// TestDifferentFiles checks that members that read different files see different preferences, and none
// takes anything from the other. Once the files agree leadership moves.
func TestDifferentFiles(t *testing.T) {
	s := newStage(t, "Lease")
	dir := t.TempDir()
	write := func(name, revision string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".new", []byte(revision), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	m1 := s.join("m1", "green", record.Local, file.New(write("m1", "green"), nil))
	s.next("m1")
	m2 := s.join("m2", "red", record.Local, file.New(write("m2", "yellow"), nil))
	s.sees("yellow", 1)
	for range 3 { // to and fro, never the same, nor what one said last
		write("m1", "blue")
		s.sees("blue", 1)
		write("m2", "green")
		s.sees("green", 1)
		write("m1", "red")
		s.sees("red", 1)
		write("m2", "yellow")
		s.sees("yellow", 1)
		s.same()
	}
	write("m2", "red")
	s.next("m2")
	m1.leave(t)
	s.same()
	m2.leave(t)
}
