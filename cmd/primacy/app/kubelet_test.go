package app

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
)

// pod creates a Pod on a node that has booted as this machine has, and names it in the environment of programs that the
// script starts from then on: pod NAME. Its termination log is the file NAME.log. No kubelet runs: the script writes what
// a kubelet would, with the command kubelet.
func (s *scripts) pod(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	ctx, namespace := context.Background(), ts.Getenv("NS")
	core, err := coreclient.NewForConfig(s.cluster.Config)
	ts.Check(err)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := core.ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		ts.Check(err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	ts.Check(err)
	node, err := core.Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		ts.Check(err)
		node.Status.NodeInfo.BootID = strings.TrimSpace(string(boot))
		_, err = core.Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		ts.Check(err)
	}
	log := ts.MkAbs(args[0] + ".log")
	ts.Check(os.WriteFile(log, nil, 0o600))
	no := false
	p, err := core.Pods(namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: args[0]},
		Spec: corev1.PodSpec{
			NodeName: namespace, AutomountServiceAccountToken: &no,
			Containers: []corev1.Container{{Name: "primacy", Image: "primacy:dev", TerminationMessagePath: log}},
		},
	}, metav1.CreateOptions{})
	ts.Check(err)
	ts.Setenv("POD_NAME", args[0])
	ts.Setenv("POD_UID", string(p.UID))
	ts.Setenv("POD_NAMESPACE", namespace)
}

// kubelet writes the status of a Pod, as the kubelet of its node would:
//
//	kubelet POD runs START      its container runs for the START-th time, since now
//	kubelet POD stale           it shows a container that ran long ago
//	kubelet POD ended START REASON  that container has ended, and the next one runs
func (s *scripts) kubelet(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	ctx := context.Background()
	core, err := coreclient.NewForConfig(s.cluster.Config)
	ts.Check(err)
	pods := core.Pods(ts.Getenv("NS"))
	p, err := pods.Get(ctx, args[0], metav1.GetOptions{})
	ts.Check(err)
	id := func(start int) string { return "containerd://" + strings.Repeat("0", 62) + strconv.Itoa(10+start) }
	now := metav1.Now()
	runs := func(start int, since metav1.Time) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name: "primacy", ContainerID: id(start), RestartCount: int32(start - 1), // #nosec G115 -- a script counts to three
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}},
		}
	}
	var status corev1.ContainerStatus
	switch args[1] {
	case "stale":
		status = runs(1, metav1.NewTime(time.Unix(1e9, 0)))
	case "runs":
		start, err := strconv.Atoi(args[2])
		ts.Check(err)
		status = runs(start, now)
	case "ended":
		start, err := strconv.Atoi(args[2])
		ts.Check(err)
		message, err := os.ReadFile(p.Spec.Containers[0].TerminationMessagePath)
		ts.Check(err)
		status = runs(start+1, now)
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			ContainerID: id(start), Message: string(message), Reason: args[3], ExitCode: 137, StartedAt: now, FinishedAt: now,
		}
	default:
		ts.Fatalf("a kubelet does not know %s", args[1])
	}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{status}}
	_, err = pods.UpdateStatus(ctx, p, metav1.UpdateOptions{})
	ts.Check(err)
}

// taint marks the node of the script's Pods as out of service, as an operator does: taint
func (s *scripts) taint(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 0)
	core, err := coreclient.NewForConfig(s.cluster.Config)
	ts.Check(err)
	node, err := core.Nodes().Get(context.Background(), ts.Getenv("NS"), metav1.GetOptions{})
	ts.Check(err)
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute})
	_, err = core.Nodes().Update(context.Background(), node, metav1.UpdateOptions{})
	ts.Check(err)
}
