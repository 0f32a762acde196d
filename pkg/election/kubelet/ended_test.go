package kubelet

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

const identity = "edge-0_0a1b2c3d"

var (
	idOne = "containerd://" + strings.Repeat("1", 64)
	idTwo = "containerd://" + strings.Repeat("2", 64)
)

// deadMember is what the session of the member says whose container deadPod shows.
func deadMember() *record.Member {
	return &record.Member{
		Identity: identity, Proofs: []record.Proof{record.ProofKubelet}, RenewInterval: time.Second,
		Container: record.Container{Namespace: "edge", Pod: "edge-0", PodUID: "u", Name: "primacy", ID: idOne},
	}
}

// deadPod is a Pod whose container has ended once, and runs again.
func deadPod() *corev1.Pod {
	at := func(minute int) metav1.Time {
		return metav1.NewTime(time.Date(2026, 11, 20, 8, minute, 0, 0, time.UTC))
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: "edge-0", UID: "u"},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{
			{Name: "primacy", TerminationMessagePolicy: corev1.TerminationMessageReadFile, TerminationMessagePath: "/dev/termination-log"},
		}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "primacy", ContainerID: idTwo, RestartCount: 1,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(31)}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ContainerID: idOne, Message: identity, Reason: "OOMKilled", ExitCode: 137, StartedAt: at(10), FinishedAt: at(30),
			}},
		}}},
	}
}

// TestWhatAKubeletProves checks which statuses prove the death of a member, and that no other one does.
func TestWhatAKubeletProves(t *testing.T) {
	last := func(p *corev1.Pod) *corev1.ContainerStateTerminated {
		return p.Status.ContainerStatuses[0].LastTerminationState.Terminated
	}
	yes, text := true, "kata"
	for _, tt := range []struct {
		what  string
		spoil func(*corev1.Pod, *record.Member)
		want  string
	}{
		{"the end before the last start", func(*corev1.Pod, *record.Member) {}, ""},
		{"it completed", func(p *corev1.Pod, _ *record.Member) { last(p).Reason, last(p).ExitCode = "Completed", 0 }, ""},
		{"it failed", func(p *corev1.Pod, _ *record.Member) { last(p).Reason, last(p).ExitCode = "Error", 1 }, ""},
		{"it has ended now", func(p *corev1.Pod, _ *record.Member) {
			s := &p.Status.ContainerStatuses[0]
			s.ContainerID, s.State, s.LastTerminationState = idOne, s.LastTerminationState, corev1.ContainerState{}
		}, ""},
		{"it waits for its next start", func(p *corev1.Pod, _ *record.Member) {
			s := &p.Status.ContainerStatuses[0]
			s.ContainerID, s.State = idOne, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		}, ""},

		{"another identity as message", func(p *corev1.Pod, _ *record.Member) { last(p).Message = "edge-0_00000000" }, "message"},
		{"the identity among other words", func(p *corev1.Pod, _ *record.Member) { last(p).Message += " died" }, "message"},
		{"no message", func(p *corev1.Pod, _ *record.Member) { last(p).Message = "" }, "message"},
		{"no container id", func(p *corev1.Pod, _ *record.Member) { last(p).ContainerID = "" }, "no end"},
		{"another container id", func(p *corev1.Pod, _ *record.Member) { last(p).ContainerID = idTwo }, "no end"},
		{"the id outside, beside an end without one", func(p *corev1.Pod, _ *record.Member) {
			s := &p.Status.ContainerStatuses[0]
			last(p).ContainerID = ""
			s.ContainerID, s.State, s.LastTerminationState = idOne, s.LastTerminationState, corev1.ContainerState{}
		}, "no end"},
		{"the id inside, beside another one", func(p *corev1.Pod, _ *record.Member) {
			s := &p.Status.ContainerStatuses[0]
			s.State, s.LastTerminationState = s.LastTerminationState, corev1.ContainerState{}
		}, "two containers"},
		{"the container runs", func(p *corev1.Pod, _ *record.Member) { p.Status.ContainerStatuses[0].ContainerID = idOne }, "runs"},
		{"a reason for a container that was lost", func(p *corev1.Pod, _ *record.Member) { last(p).Reason = "ContainerStatusUnknown" }, "reason"},
		{"a reason of a start that failed", func(p *corev1.Pod, _ *record.Member) { last(p).Reason = "StartError" }, "reason"},
		{"a reason of a runtime that was restarted", func(p *corev1.Pod, _ *record.Member) { last(p).Reason = "Unknown" }, "reason"},
		{"no time of start", func(p *corev1.Pod, _ *record.Member) { last(p).StartedAt = metav1.Time{} }, "started"},
		{"no time of end", func(p *corev1.Pod, _ *record.Member) { last(p).FinishedAt = metav1.Time{} }, "started"},
		{"an end before the start", func(p *corev1.Pod, _ *record.Member) {
			last(p).StartedAt, last(p).FinishedAt = last(p).FinishedAt, last(p).StartedAt
		}, "started"},
		{"another container of the Pod", func(p *corev1.Pod, _ *record.Member) { p.Status.ContainerStatuses[0].Name = "sidecar" }, "no status"},
		{"a container that the Pod does not have", func(p *corev1.Pod, _ *record.Member) { p.Spec.Containers[0].Name = "sidecar" }, "no container"},
		{"a deleted Pod", func(p *corev1.Pod, _ *record.Member) {
			now := metav1.Now()
			p.DeletionTimestamp = &now
		}, "deleted"},
		{"a failed Pod", func(p *corev1.Pod, _ *record.Member) { p.Status.Phase = corev1.PodFailed }, "phase"},
		{"a Pod that succeeded", func(p *corev1.Pod, _ *record.Member) { p.Status.Phase = corev1.PodSucceeded }, "phase"},
		{"a Pod of an unknown phase", func(p *corev1.Pod, _ *record.Member) { p.Status.Phase = corev1.PodUnknown }, "phase"},
		{"a mirror Pod", func(p *corev1.Pod, _ *record.Member) {
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "h"}
		}, "mirror"},
		{"a Pod from a file", func(p *corev1.Pod, _ *record.Member) {
			p.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
		}, "mirror"},
		{"a Pod of a node", func(p *corev1.Pod, _ *record.Member) { p.OwnerReferences = []metav1.OwnerReference{{Kind: "Node"}} }, "mirror"},
		{"a runtimeClass", func(p *corev1.Pod, _ *record.Member) { p.Spec.RuntimeClassName = &text }, "runtimeClass"},
		{"hostPID", func(p *corev1.Pod, _ *record.Member) { p.Spec.HostPID = true }, "hostPID"},
		{"shareProcessNamespace", func(p *corev1.Pod, _ *record.Member) { p.Spec.ShareProcessNamespace = &yes }, "shareProcessNamespace"},
		{"no node", func(p *corev1.Pod, _ *record.Member) { p.Spec.NodeName = "" }, "no node"},
		{"a message that may be from the log", func(p *corev1.Pod, _ *record.Member) {
			p.Spec.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
		}, "log"},
		{"another Pod of that name", func(p *corev1.Pod, _ *record.Member) { p.UID = "v" }, "another Pod"},
		{"a Pod of another name", func(p *corev1.Pod, _ *record.Member) { p.Name = "edge-1" }, "another Pod"},
		{"a Pod of another namespace", func(p *corev1.Pod, _ *record.Member) { p.Namespace = "other" }, "another Pod"},
		{"a session without a container", func(_ *corev1.Pod, m *record.Member) { m.Container = record.Container{} }, "no container"},
		{"a container of a virtual node", func(p *corev1.Pod, m *record.Member) {
			m.Container.ID = "aci://" + strings.Repeat("1", 64)
			last(p).ContainerID = m.Container.ID
		}, "runtime"},
		{"a session with an empty id", func(p *corev1.Pod, m *record.Member) { m.Container.ID, last(p).ContainerID = "", "" }, "runtime"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			pod, m := deadPod(), deadMember()
			tt.spoil(pod, m)
			d, err := ended(pod, m)
			switch {
			case tt.want == "":
				if err != nil || d.Proof != record.ProofKubelet || d.Identity != identity || d.At.Minute() != 30 || !strings.Contains(d.How, idOne) {
					t.Errorf("got %+v, %v", d, err)
				}
			case !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), tt.want):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestOwnContainer checks how a member knows its own container by the status of its Pod, and when it does not.
func TestOwnContainer(t *testing.T) {
	born := time.Date(2026, 11, 20, 8, 31, 0, 700_000_000, time.UTC)
	for _, tt := range []struct {
		what  string
		spoil func(*corev1.Pod, *Place)
		want  error
	}{
		{"it runs", func(*corev1.Pod, *Place) {}, nil},
		{"it is named", func(p *corev1.Pod, h *Place) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "sidecar"})
			h.Container = "primacy"
		}, nil},
		{"there is no status", func(p *corev1.Pod, _ *Place) { p.Status.ContainerStatuses = nil }, errNotYet},
		{"an earlier start has ended", func(p *corev1.Pod, _ *Place) {
			p.Status.ContainerStatuses[0].State = p.Status.ContainerStatuses[0].LastTerminationState
		}, errNotYet},
		{"the status is that of an earlier start", func(_ *corev1.Pod, h *Place) { h.Born = born.Add(time.Second) }, errNotYet},
		{"the running one has ended as well", func(p *corev1.Pod, _ *Place) {
			p.Status.ContainerStatuses[0].LastTerminationState.Terminated.ContainerID = idTwo
		}, errNotYet},
		{"there is no id", func(p *corev1.Pod, _ *Place) { p.Status.ContainerStatuses[0].ContainerID = "" }, errNotYet},
		{"an unknown runtime", func(p *corev1.Pod, _ *Place) { p.Status.ContainerStatuses[0].ContainerID = "aci://1" }, ErrUnfit},
		{"another Pod of the name", func(_ *corev1.Pod, h *Place) { h.UID = "v" }, ErrUnfit},
		{"one of several", func(p *corev1.Pod, _ *Place) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "sidecar"})
		}, ErrUnfit},
		{"hostPID", func(p *corev1.Pod, _ *Place) { p.Spec.HostPID = true }, ErrUnfit},
	} {
		t.Run(tt.what, func(t *testing.T) {
			pod, here := deadPod(), Place{Namespace: "edge", Pod: "edge-0", UID: "u", Born: born}
			tt.spoil(pod, &here)
			self, err := own(pod, here)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			of := record.Container{Namespace: "edge", Pod: "edge-0", PodUID: "u", Name: "primacy", ID: idTwo}
			if tt.want == nil && (self.Container != of || self.log != "/dev/termination-log") {
				t.Errorf("got %+v", self)
			}
		})
	}
}

// TestHere checks what a process knows of itself.
func TestHere(t *testing.T) {
	env := map[string]string{"POD_NAMESPACE": "edge", "POD_NAME": "edge-0"}
	getenv := func(name string) string { return env[name] }
	if _, err := Here(getenv); err == nil {
		t.Error("without POD_UID it knows its Pod")
	}
	env["POD_UID"] = "u"
	p, err := Here(getenv)
	if err != nil || p.UID != "u" || len(p.BootID) != 36 || p.Born.After(time.Now()) || p.Born.Year() < 2000 {
		t.Errorf("got %+v, %v", p, err)
	}
	for _, stat := range []string{"", "1 (a) S 1", "1 (a b) ) S 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 x 9"} {
		if _, err := ageOf(stat); err == nil {
			t.Errorf("%q has an age", stat)
		}
	}
}
