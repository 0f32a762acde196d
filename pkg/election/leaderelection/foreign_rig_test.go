package leaderelection_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

// scheduler is a running kube-scheduler.
type scheduler struct {
	work // its rig's to lock
	cmd  *exec.Cmd
	done chan struct{}
	tail []string
}

// rig is a cluster with one Node, to which Pods come all the time, and the schedulers that bind them.
type rig struct {
	t          *testing.T
	cluster    *devcluster.Cluster
	namespace  string
	kubeconfig string
	core       *corev1client.CoreV1Client
	leases     coordinationv1client.LeaseInterface

	mu   sync.Mutex
	any  *sync.Cond
	all  []*scheduler
	held []holding
	// bound is when the API told of bindings, in that order.
	bound []binding
	known map[string]bool // the Pods that it told of
}

// holding says who held the Lease from when on.
type holding struct {
	at     time.Time
	holder string
}

const (
	// every is how often a Pod comes. Just before a leader is stopped many come at once, so that it has bindings under way.
	every     = 50 * time.Millisecond
	many      = 100
	lockSpace = "kube-system"
	lockName  = "kube-scheduler"
)

// roundsIn is how many rounds a variable of the environment asks for. Without it the test is skipped; example says what a value
// leads to.
func roundsIn(t *testing.T, variable, example string) int {
	t.Helper()
	said := os.Getenv(variable)
	if said == "" {
		t.Skip(variable + example)
	}
	n, err := strconv.Atoi(said)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q (want a number: %s%s)", variable, said, variable, example)
	}
	return n
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, cluster: devcluster.Start(t), known: map[string]bool{}}
	r.any = sync.NewCond(&r.mu)
	r.namespace = r.cluster.Namespace(t)
	core, err1 := corev1client.NewForConfig(r.cluster.Config)
	coordination, err2 := coordinationv1client.NewForConfig(r.cluster.Config)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	r.core, r.leases = core, coordination.Leases(lockSpace)
	r.furnish()

	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	placed := make(chan string, 10_000)
	running.Go(func() { r.create(ctx) })
	running.Go(func() { r.remove(ctx, placed) })
	running.Go(func() {
		r.follow(ctx, "Pods", func() (watch.Interface, error) {
			return core.Pods(r.namespace).Watch(ctx, metav1.ListOptions{})
		}, func(e watch.Event) { r.podChanged(e, placed) })
	})
	running.Go(func() {
		r.follow(ctx, "the Lease", func() (watch.Interface, error) {
			return r.leases.Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", lockName).String()})
		}, r.leaseChanged)
	})
	return r
}

// furnish makes a Node, a service account, and a kubeconfig with the rights of a kube-scheduler.
func (r *rig) furnish() {
	r.t.Helper()
	ctx := r.t.Context()
	plenty := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("100000"), corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("1Ti")}
	node, err := r.core.Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Status: corev1.NodeStatus{
		Capacity: plenty, Allocatable: plenty, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}, metav1.CreateOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	node.Spec.Taints = nil // admission adds "not ready"
	if _, err := r.core.Nodes().Update(ctx, node, metav1.UpdateOptions{}); err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.core.ServiceAccounts(r.namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(r.cluster.Kubeconfig)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:kube-scheduler"
	}
	r.kubeconfig = filepath.Join(r.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, r.kubeconfig); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) create(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.pod(ctx, "pod-"+strconv.Itoa(i))
		}
	}
}

// pod creates a Pod.
func (r *rig) pod(ctx context.Context, name string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}}}
	if _, err := r.core.Pods(r.namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil && ctx.Err() == nil {
		r.t.Errorf("create a Pod: %v", err)
	}
}

// remove deletes Pods that are bound, so that there are few.
func (r *rig) remove(ctx context.Context, placed <-chan string) {
	at := int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case name := <-placed:
			if err := r.core.Pods(r.namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &at}); err != nil && ctx.Err() == nil {
				r.t.Errorf("delete a Pod: %v", err)
			}
		}
	}
}

// follow keeps a watch.
func (r *rig) follow(ctx context.Context, what string, begin func() (watch.Interface, error), tell func(watch.Event)) {
	for ctx.Err() == nil {
		w, err := begin()
		if err != nil {
			if ctx.Err() == nil {
				r.t.Errorf("watch %s: %v", what, err)
			}
			return
		}
		for e := range w.ResultChan() {
			tell(e)
		}
	}
}

func (r *rig) podChanged(e watch.Event, placed chan<- string) {
	pod, is := e.Object.(*corev1.Pod)
	if !is || e.Type != watch.Modified || pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known[pod.Name] {
		r.known[pod.Name] = true
		r.bound = append(r.bound, binding{time.Now(), pod.Name})
		r.any.Broadcast()
		placed <- pod.Name // it has room
	}
}

func (r *rig) leaseChanged(e watch.Event) {
	l, is := e.Object.(*coordinationv1.Lease)
	if !is {
		return
	}
	holder := ""
	if h := l.Spec.HolderIdentity; h != nil && e.Type != watch.Deleted {
		holder = *h
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holder() != holder {
		r.held = append(r.held, holding{time.Now(), holder})
		r.any.Broadcast()
	}
}

// holder is who holds the Lease. The rig is locked.
func (r *rig) holder() string {
	if len(r.held) == 0 {
		return ""
	}
	return r.held[len(r.held)-1].holder
}

// arguments are those of a scheduler, beside those about its election.
func (r *rig) arguments() []string {
	r.t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		r.t.Fatal(err)
	}
	return []string{"--kubeconfig", r.kubeconfig, "--bind-address", "127.0.0.1", "--secure-port", strconv.Itoa(port), "-v", "3",
		"--feature-gates", "DRADeviceTaintRules=false"} // it watches a kind that the API server of the release before does not have
}

// start starts a scheduler, and waits until it knows all Pods and takes part.
func (r *rig) start(program, id string, more ...string) *scheduler {
	r.t.Helper()
	s := &scheduler{work: work{id: id}, cmd: exec.Command(program, append(r.arguments(), more...)...)}
	r.mu.Lock()
	r.all = append(r.all, s)
	r.mu.Unlock()
	s.done = r.launch(s.cmd, syscall.SIGKILL, func(line []byte) { r.heard(s, string(line)) }, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		s.gone = time.Now()
		r.any.Broadcast()
	})
	r.until(id+" takes part", func() bool { return s.hasElection || s.work.bound != nil })
	return s
}

// launch starts a program, and tells of each line of its log and then of its end. After that done is closed. The signal ends the
// program with the test.
func (r *rig) launch(cmd *exec.Cmd, end syscall.Signal, line func([]byte), gone func()) (done chan struct{}) {
	r.t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	done = make(chan struct{})
	go func() { // joined by the cleanup
		defer close(done)
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			line(lines.Bytes())
		}
		_ = cmd.Wait() // a killed process always ends with an error
		gone()
	}()
	r.t.Cleanup(func() {
		_ = cmd.Process.Signal(end) // it may be gone
		<-done
	})
	return done
}

func (r *rig) heard(s *scheduler, line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := s.hear(line); err != nil {
		r.t.Error(err)
	}
	if !strings.Contains(line, " eventhandlers.go:") { // one line for each change of a Pod
		s.tail = append(s.tail[max(0, len(s.tail)-30):], line)
	}
	r.any.Broadcast()
}

// until waits for a condition, which is asked with the rig locked.
func (r *rig) until(what string, holds func() bool) {
	r.t.Helper()
	late := false
	timer := time.AfterFunc(time.Minute, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		late = true
		r.any.Broadcast()
	})
	defer timer.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !holds() {
		if late {
			for _, s := range r.all {
				r.t.Logf("%s said last:\n%s", s.id, strings.Join(s.tail, "\n"))
			}
			r.t.Fatalf("%s: not so after a long time; the Lease says %q", what, r.holder())
		}
		r.any.Wait()
	}
}

// outage is what the end of a leader led to.
type outage struct {
	next *scheduler
	// Without a leader: from the signal until the Lease had another holder.
	lease time.Duration
	// Without a binding: from the last by the log of the one that ended until the first by the log of the next; and
	// the longest time between two bindings by the API meanwhile.
	work, api time.Duration
	// From the signal to the first binding of the next, by its log and by the API.
	first, apiFirst time.Duration
	// How long after the signal the process was gone, and how long after that the next one began to work.
	ending, apart time.Duration
}

func (o outage) String() string {
	return fmt.Sprintf("%.2f s without a binding (API: %.2f s), %.2f s until the Lease had the next, process gone after %.3f s, next began %.3f s after that",
		o.work.Seconds(), o.api.Seconds(), o.lease.Seconds(), o.ending.Seconds(), o.apart.Seconds())
}

// end ends the leader, and waits until the next one works.
func (r *rig) end(leader *scheduler, with syscall.Signal) outage {
	r.t.Helper()
	r.until(leader.id+" works", func() bool { return len(leader.work.bound) > 20 })
	r.mu.Lock()
	holder := r.holder()
	r.mu.Unlock()
	if with == syscall.SIGTERM {
		for i := range many {
			r.pod(r.t.Context(), fmt.Sprintf("burst-%d-%d", leader.cmd.Process.Pid, i))
		}
	}
	began := time.Now()
	if err := leader.cmd.Process.Signal(with); err != nil {
		r.t.Fatal(err)
	}
	var next *scheduler
	r.until("somebody works after "+leader.id, func() bool {
		for _, s := range r.all {
			if s != leader && s.gone.IsZero() && len(s.work.bound) > 20 {
				next = s
			}
		}
		if next == nil || leader.gone.IsZero() {
			return false
		}
		told := 0
		for pod := range next.work.bound {
			if r.known[pod] {
				told++
			}
		}
		return told > 20
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	o := outage{next: next, first: next.firstBound.Sub(began), work: next.firstBound.Sub(leader.lastBound), ending: leader.gone.Sub(began), apart: next.began.Sub(leader.gone)}
	for _, h := range r.held {
		if h.at.After(began) && h.holder != "" && h.holder != holder {
			o.lease = h.at.Sub(began)
		}
	}
	for i, b := range r.bound {
		if o.apiFirst == 0 && next.work.bound[b.pod] {
			o.apiFirst = b.at.Sub(began)
		}
		if i > 0 && b.at.After(began) {
			o.api = max(o.api, b.at.Sub(r.bound[i-1].at))
		}
	}
	return o
}

// leave asks a scheduler to end. It returns its exit status.
func (r *rig) leave(s *scheduler) int {
	r.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		r.t.Fatal(err)
	}
	<-s.done
	return s.cmd.ProcessState.ExitCode()
}

// clear begins anew: nobody runs, and there is no Lease. It returns what the schedulers did.
func (r *rig) clear() (all []work) {
	r.t.Helper()
	for _, s := range r.all {
		r.leave(s)
		all = append(all, s.work)
	}
	if err := r.leases.Delete(r.t.Context(), lockName, metav1.DeleteOptions{}); err != nil {
		r.t.Fatal(err)
	}
	r.until("the Lease is gone", func() bool { return r.holder() == "" })
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := credit(all, r.bound); n > 0 {
		r.t.Logf("%d of %d bindings were under way at the end of their scheduler", n, len(r.bound))
	}
	r.all, r.bound = nil, nil
	return all
}
