package kubelet

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

const (
	firstBoot  = "11111111-9f0c-4f1b-8a3e-1f2d3c4b5a69"
	secondBoot = "22222222-9f0c-4f1b-8a3e-1f2d3c4b5a69"
)

// machine is a node of a real API server, and the sessions of members on it. Nothing runs on the node.
type machine struct {
	*testing.T
	core     *coreclient.CoreV1Client
	node     *corev1.Node
	sessions *gated
}

// gated is a store whose lists wait until the test lets them go on.
type gated struct {
	lock.Store
	asked, answer chan struct{}
}

func (g *gated) Watch(ctx context.Context, deliver func(lock.Event)) error {
	if g.asked != nil {
		g.asked <- struct{}{}
		<-g.answer
	}
	return g.Store.Watch(ctx, deliver)
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	cluster := devcluster.Start(t)
	core, err := coreclient.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := lease.NewClient(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	namespace := cluster.Namespace(t)
	m := &machine{T: t, core: core, sessions: &gated{Store: lease.In(client, namespace)}}
	if m.node, err = core.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	m.boots(firstBoot)
	return m
}

// boots writes the boot of the node, as its kubelet does.
func (m *machine) boots(id string) {
	m.Helper()
	m.node.Status.NodeInfo.BootID = id
	node, err := m.core.Nodes().UpdateStatus(m.Context(), m.node, metav1.UpdateOptions{})
	if err != nil {
		m.Fatal(err)
	}
	m.node = node
}

// marks sets the node's taints, as an operator does.
func (m *machine) marks(taints ...corev1.Taint) {
	m.Helper()
	m.node.Spec.Taints = taints
	node, err := m.core.Nodes().Update(m.Context(), m.node, metav1.UpdateOptions{})
	if err != nil {
		m.Fatal(err)
	}
	m.node = node
}

var outOfService = corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}

// joins stores the session of a member on the node, which does not beat.
func (m *machine) joins(host, boot string, spoil func(*record.Member)) {
	m.Helper()
	who := deadMember()
	who.Identity, who.Proofs, who.RenewInterval = host+"_00000001", []record.Proof{record.ProofOutOfService}, 300*time.Millisecond
	who.Container.NodeUID, who.Container.BootID = string(m.node.UID), boot
	if spoil != nil {
		spoil(who)
	}
	d := 15 * time.Second
	r := record.Record{
		Holder: who.Identity, Duration: d, Group: "edge", Member: who,
		Mark: &record.Mark{Identity: who.Identity, Beat: 1, Duration: d, Renewal: record.RenewalRecord},
	}
	if _, err := m.sessions.Put(m.Context(), "primacy-edge-"+host+"-0", r, record.Version{}); err != nil {
		m.Fatal(err)
	}
}

func (m *machine) ended(host string) bool {
	m.Helper()
	e, err := m.sessions.Get(m.Context(), "primacy-edge-"+host+"-0")
	if err != nil {
		m.Fatal(err)
	}
	return e.Record.Released()
}

// hearing runs a listener until the test ends. It has seen the nodes when it returns.
func (m *machine) hearing() heard {
	m.Helper()
	lines := hear(m.T, func(log *zap.Logger) interface{ Run(context.Context) } {
		return &NodeListener{Nodes: m.core.Nodes(), Sessions: m.sessions, Group: "edge", Name: "other-0", Clock: clock.Boottime(), Log: log}
	})
	lines.want(m.T, "the nodes are watched: from now on a taint that comes speaks of the members before it")
	return lines
}

// TestATaintSpeaksOfWhatWasBefore checks that the taint ends the session of a member that was there before it and is
// silent since, and no other one.
func TestATaintSpeaksOfWhatWasBefore(t *testing.T) {
	t.Run("it comes", func(t *testing.T) {
		m := newMachine(t)
		m.sessions.asked, m.sessions.answer = make(chan struct{}), make(chan struct{})
		m.joins("before", firstBoot, nil)
		m.joins("rebooted", secondBoot, nil)
		m.joins("unlisted", firstBoot, func(who *record.Member) { who.Proofs = []record.Proof{record.ProofOperator, record.ProofKubelet} })
		m.joins("elsewhere", firstBoot, func(who *record.Member) { who.Container.NodeUID = "another node of that name" })
		lines := m.hearing()
		m.marks(corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute})
		m.marks(outOfService)
		<-m.sessions.asked
		m.joins("after", firstBoot, nil)
		m.sessions.answer <- struct{}{}
		lines.want(t, lineOver)
		clock.Wait(t.Context(), time.Second) // longer than two renewIntervals
		for host, want := range map[string]bool{"before": true, "rebooted": false, "unlisted": false, "elsewhere": false, "after": false} {
			if m.ended(host) != want {
				t.Errorf("%s: ended: %v, want %v", host, !want, want)
			}
		}
		select {
		case line := <-lines:
			t.Errorf("logged %q", line)
		default:
		}
	})
	t.Run("it is left there after power-on", func(t *testing.T) {
		m := newMachine(t)
		m.marks(outOfService)
		m.joins("before", firstBoot, nil)
		lines := m.hearing() // it did not see the taint come
		m.node.Labels = map[string]string{"a": "b"}
		m.marks(outOfService)
		m.joins("silent", secondBoot, nil)
		m.boots(secondBoot)
		clock.Wait(t.Context(), time.Second)
		if m.ended("before") || m.ended("silent") {
			t.Error("a taint that nobody saw come has ended a session")
		}
		m.marks()
		m.marks(outOfService)
		lines.want(t, lineOver)
		if m.ended("before") || !m.ended("silent") {
			t.Errorf("the taint of the second boot: ended of the first: %v, of the second: %v", m.ended("before"), m.ended("silent"))
		}
	})
}
