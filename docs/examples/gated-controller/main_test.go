package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
)

// asProgram names the variable that makes the test binary the program itself.
const asProgram = "GATED_CONTROLLER"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	devcluster.Main(m)
}

// member is a process of the program.
type member struct {
	*exec.Cmd
	lines chan string
}

func start(t *testing.T, cluster *devcluster.Cluster, namespace, name string) *member {
	t.Helper()
	m := &member{Cmd: exec.Command(os.Args[0], "--kubeconfig", cluster.Kubeconfig, "--namespace", namespace, "--name", name), lines: make(chan string, 64)}
	m.Env = append(os.Environ(), asProgram+"=1")
	m.Stderr = os.Stderr
	stdout, err := m.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(m.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			m.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = m.Process.Kill()
		for range m.lines { // until the member is gone
		}
		_ = m.Wait()
	})
	return m
}

// await reads what the member prints until a line that begins with prefix.
func (m *member) await(t *testing.T, prefix string) string {
	t.Helper()
	for line := range m.lines {
		if strings.HasPrefix(line, prefix) {
			return line
		}
	}
	t.Fatalf("the member ended before it said %q", prefix)
	return ""
}

// TestTwoMembers runs two members with warm caches. It kills the member that leads, and then stops
// the other one.
func TestTwoMembers(t *testing.T) {
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	core, err := coreclient.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	leases, err := coordinationclient.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(name string) {
		t.Helper()
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"greet": "true"}}, Data: map[string]string{"name": name}}
		if _, err := core.ConfigMaps(namespace).Create(t.Context(), c, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	greeted := func(name string) (token string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w, err := core.ConfigMaps(namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		for e := range w.ResultChan() {
			if c, ok := e.Object.(*corev1.ConfigMap); ok && c.Data["greeting"] == "hello "+name {
				return c.Labels["fence.primacy.dev/greeter"]
			}
		}
		t.Fatalf("the watch ended before %s was greeted", name)
		return ""
	}
	term := func(m *member) (token string, known int) {
		t.Helper()
		line := m.await(t, "leading:")
		if _, err := fmt.Sscanf(line, "leading: term %s %d objects known", &token, &known); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return strings.TrimSuffix(token, ","), known
	}

	ask("a")
	m1 := start(t, cluster, namespace, "m1")
	first, known := term(m1)
	if got := greeted("a"); got != first || known != 1 {
		t.Errorf("a was greeted in term %s, want %s; %d objects known", got, first, known)
	}
	m2 := start(t, cluster, namespace, "m2")
	m2.await(t, "warm")
	ask("b")
	if got := greeted("b"); got != first {
		t.Errorf("b was greeted in term %s, want %s", got, first)
	}

	member := parent.MemberOf(m1.Process.Pid)
	if err := syscall.Kill(member, syscall.SIGKILL); err != nil || member == m1.Process.Pid {
		t.Fatalf("kill the member %d of %d: %v", member, m1.Process.Pid, err)
	}
	for range m1.lines { // until the parent has gone, too, which is before the session would have lapsed
	}
	session, err := leases.Leases(namespace).Get(t.Context(), "primacy-greeters-m1-0", metav1.GetOptions{})
	if err != nil || session.Spec.HolderIdentity != nil && *session.Spec.HolderIdentity != "" {
		t.Errorf("the session of the dead member was not ended: %v %v", session, err)
	}
	ask("c")
	second, known := term(m2)
	if got := greeted("c"); got != second || first == second || known < 2 {
		t.Errorf("c was greeted in term %s, want %s; %d objects known to the new leader", got, second, known)
	}

	m3 := start(t, cluster, namespace, "m3")
	m3.await(t, "warm")
	if err := m2.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	m2.await(t, "over: term "+second)
	third, known := term(m3)
	ask("d")
	if got := greeted("d"); got != third || known != 3 {
		t.Errorf("d was greeted in term %s, want %s; %d objects known to the new leader", got, third, known)
	}
}
