package kubelet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

// longest is how long a test waits for anything.
const longest = 30 * time.Second

// node has one Pod of a real API server. No kubelet runs there: the test itself writes the status that a kubelet
// would write.
type node struct {
	*testing.T
	core *coreclient.CoreV1Client
	pod  *corev1.Pod
}

func newNode(t *testing.T) *node {
	t.Helper()
	cluster := devcluster.Start(t)
	core, err := coreclient.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{T: t, core: core}
	namespace := cluster.Namespace(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := core.ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	no := false
	pod := deadPod()
	pod.Namespace, pod.UID, pod.Spec.NodeName = namespace, "", namespace
	pod.Spec.Containers[0].Image = "primacy:dev"
	pod.Spec.Containers[0].TerminationMessagePath = filepath.Join(t.TempDir(), "termination-log")
	pod.Spec.AutomountServiceAccountToken = &no
	if n.pod, err = core.Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return n
}

// says writes a status of the Pod, as its kubelet does.
func (n *node) says(s corev1.PodStatus) {
	n.Helper()
	next := n.pod.DeepCopy()
	next.Status = s
	var err error
	if n.pod, err = n.core.Pods(next.Namespace).UpdateStatus(n.Context(), next, metav1.UpdateOptions{}); err != nil {
		n.Fatal(err)
	}
}

// session stores the session of a member in the Pod's container, and returns its member.
func (n *node) session(realm *memory.Realm, proofs ...record.Proof) *record.Member {
	n.Helper()
	m := deadMember()
	m.Proofs, m.RenewInterval = proofs, 300*time.Millisecond
	m.Container.Namespace, m.Container.PodUID = n.pod.Namespace, string(n.pod.UID)
	lease := 15 * time.Second
	r := record.Record{
		Holder: identity, Duration: lease, Group: "edge", Member: m,
		Mark: &record.Mark{Identity: identity, Beat: 7, Duration: lease, Renewal: record.RenewalRecord},
	}
	if _, err := realm.Write("primacy-edge-edge-0-0", r, record.Version{}); err != nil {
		n.Fatal(err)
	}
	return m
}

// hearing runs a listener until the test ends.
func (n *node) hearing(realm *memory.Realm) heard {
	return hear(n.T, func(log *zap.Logger) interface{ Run(context.Context) } {
		return &Listener{
			Pods: n.core.Pods(n.pod.Namespace), Sessions: realm.Store(), Group: "edge", Name: "other-0", Clock: clock.Boottime(), Log: log,
		}
	})
}

const (
	lineOver    = "its session is over, since its member was said to be dead"
	lineLives   = "a member was said to be dead, but it lives"
	lineNothing = "a container has ended, but that proves nothing of its member"
	lineLapses  = "the session was not ended on a word: it lapses"
	lineUnread  = "a container has ended, but the sessions cannot be read: that of its member lapses"
)

// TestAListenerEndsTheSession checks that the status of a Pod ends a session: one that was there before the listener,
// and one that comes later.
func TestAListenerEndsTheSession(t *testing.T) {
	for _, first := range []string{"the status", "the listener"} {
		t.Run(first, func(t *testing.T) {
			n, realm := newNode(t), memory.New(clock.Boottime())
			n.session(realm, record.ProofKubelet)
			if first == "the status" {
				n.says(deadPod().Status)
			}
			lines := n.hearing(realm)
			if first != "the status" {
				n.says(deadPod().Status)
			}
			lines.want(t, lineOver)
			r := realm.Read("primacy-edge-edge-0-0").Record
			last := r.History[len(r.History)-1]
			if !r.Released() || last.Who != "kubelet, heard by other-0" || !strings.Contains(last.Why, "OOMKilled, exit status 137, and was silent for") {
				t.Errorf("the end says %+v", last)
			}
		})
	}
}

// TestAListenerLeavesTheLivingAlone checks that no invented status ends the session of a member that lives, and that a
// beat after the word refutes it for good.
func TestAListenerLeavesTheLivingAlone(t *testing.T) {
	for _, tt := range []struct {
		what   string
		proofs []record.Proof
		spoil  func(*corev1.PodStatus)
		want   string
	}{
		{"not listed", []record.Proof{record.ProofParent, record.ProofOperator}, func(*corev1.PodStatus) {}, lineLapses},
		{"unknown", []record.Proof{record.ProofKubelet}, func(s *corev1.PodStatus) {
			s.ContainerStatuses[0].LastTerminationState.Terminated.Reason = "ContainerStatusUnknown"
		}, lineNothing},
		{"another id", []record.Proof{record.ProofKubelet}, func(s *corev1.PodStatus) {
			s.ContainerStatuses[0].LastTerminationState.Terminated.ContainerID = idTwo
		}, lineNothing},
		{"failed", []record.Proof{record.ProofKubelet}, func(s *corev1.PodStatus) { s.Phase = corev1.PodFailed }, lineNothing},
	} {
		t.Run(tt.what, func(t *testing.T) {
			n, realm := newNode(t), memory.New(clock.Boottime())
			n.session(realm, tt.proofs...)
			lines := n.hearing(realm)
			s := deadPod().Status
			tt.spoil(&s)
			n.says(s)
			lines.want(t, tt.want)
			if realm.Read("primacy-edge-edge-0-0").Record.Released() {
				t.Error("the session was ended")
			}
		})
	}
	t.Run("it beats", func(t *testing.T) {
		n, realm := newNode(t), memory.New(clock.Boottime())
		n.session(realm, record.ProofKubelet)
		ctx, cancel := context.WithCancel(t.Context())
		beaten := make(chan struct{})
		go func() { // it beats until the test ends; joined below
			defer close(beaten)
			for clock.Wait(ctx, 20*time.Millisecond) {
				e := realm.Read("primacy-edge-edge-0-0")
				r, mark := *e.Record, *e.Record.Mark
				mark.Beat++
				r.Mark = &mark
				_, _ = realm.Write("primacy-edge-edge-0-0", r, e.Version)
			}
		}()
		lines := n.hearing(realm)
		n.says(deadPod().Status)
		lines.want(t, lineLives)
		cancel()
		<-beaten
		again := deadPod().Status // the same word with other news of the Pod, while the session is silent
		again.ContainerStatuses[0].RestartCount++
		n.says(again)
		if clock.Wait(t.Context(), time.Second) && realm.Read("primacy-edge-edge-0-0").Record.Released() {
			t.Error("a word that was refuted has ended the session")
		}
	})
	t.Run("the Pod is deleted", func(t *testing.T) {
		n, realm := newNode(t), memory.New(clock.Boottime())
		n.session(realm, record.ProofKubelet)
		lines := n.hearing(realm)
		now := int64(0)
		if err := n.core.Pods(n.pod.Namespace).Delete(t.Context(), n.pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			t.Fatal(err)
		}
		if clock.Wait(t.Context(), time.Second) && realm.Read("primacy-edge-edge-0-0").Record.Released() {
			t.Error("the end of a Pod has ended the session")
		}
		select {
		case line := <-lines:
			t.Errorf("logged %q", line)
		default:
		}
	})
}

// thirdLook is a client that calls is before the third look at Pods.
type thirdLook struct {
	coreclient.CoreV1Interface
	looks int
	is    func()
}

func (l *thirdLook) Pods(namespace string) coreclient.PodInterface {
	if l.looks++; l.looks == 3 {
		l.is()
	}
	return l.CoreV1Interface.Pods(namespace)
}

// TestFind checks that a member finds its own container, waits while the status of its Pod is stale, and is told when
// no kubelet can tell of it.
func TestFind(t *testing.T) {
	n := newNode(t)
	const boot = "7a0e35f0-9f0c-4f1b-8a3e-1f2d3c4b5a69"
	machine := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.pod.Spec.NodeName}}
	machine, err := n.core.Nodes().Create(t.Context(), machine, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	machine.Status.NodeInfo.BootID = boot
	if _, err = n.core.Nodes().UpdateStatus(t.Context(), machine, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	fresh := deadPod().Status
	here := Place{
		Namespace: n.pod.Namespace, Pod: n.pod.Name, UID: string(n.pod.UID), BootID: boot,
		Born: fresh.ContainerStatuses[0].State.Running.StartedAt.Time,
	}
	stale := *fresh.DeepCopy()
	s := &stale.ContainerStatuses[0]
	s.ContainerID, s.RestartCount, s.LastTerminationState = idOne, 0, corev1.ContainerState{}
	s.State.Running.StartedAt = metav1.NewTime(here.Born.Add(-time.Second))
	n.says(stale)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := Find(ctx, &thirdLook{CoreV1Interface: n.core, is: cancel}, here); !errors.Is(err, errNotYet) || !errors.Is(err, context.Canceled) {
		t.Fatalf("with a stale status: %v", err)
	}
	found := make(chan Self, 1)
	go func() {
		self, err := Find(t.Context(), n.core, here)
		if err != nil {
			t.Error(err)
		}
		found <- self
	}()
	n.says(fresh)
	self := <-found
	if c := self.Container; c.ID != idTwo || c.PodUID != here.UID || c.Node != machine.Name || c.NodeUID != string(machine.UID) || c.BootID != boot {
		t.Errorf("found %+v", self.Container)
	}

	if err := self.Announce(identity); err == nil {
		t.Error("it has made a termination log")
	}
	if err := os.WriteFile(self.log, []byte("an earlier identity, which was longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := self.Announce(identity); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(self.log); string(text) != identity {
		t.Errorf("the log says %q, %v", text, err)
	}

	for what, spoil := range map[string]func(*Place){
		"a virtual node":                       func(p *Place) { p.BootID = "00000000-9f0c-4f1b-8a3e-1f2d3c4b5a69" },
		"no boot id":                           func(p *Place) { p.BootID = "" },
		"another Pod that had the name before": func(p *Place) { p.UID = "u" },
	} {
		elsewhere := here
		spoil(&elsewhere)
		if _, err := Find(t.Context(), n.core, elsewhere); !errors.Is(err, ErrUnfit) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
