package kubelet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// reasons are those of a runtime that saw the container end. Others, such as ContainerStatusUnknown, mean that the
// kubelet lost sight of it.
var reasons = map[string]bool{"Completed": true, "Error": true, "OOMKilled": true}

// ended is the death of a member, if the Pod's status says that its container has ended. The error, which wraps ErrUnfit,
// says why the status proves nothing.
func ended(pod *corev1.Pod, m *record.Member) (record.Death, error) {
	of := m.Container
	switch {
	case of == record.Container{}:
		return record.Death{}, unfit("the session records no container")
	case !containerID.MatchString(of.ID):
		return record.Death{}, unfit("the session records the container %q, which is none of a runtime that we know", of.ID)
	case pod.Namespace != of.Namespace || pod.Name != of.Pod || string(pod.UID) != of.PodUID:
		return record.Death{}, unfit("it is another Pod")
	case pod.DeletionTimestamp != nil:
		return record.Death{}, unfit("the Pod is being deleted, so its status may not be the kubelet's")
	case pod.Status.Phase != corev1.PodRunning:
		return record.Death{}, unfit("the phase of the Pod is %s, which others than the kubelet may set", pod.Status.Phase)
	}
	if _, err := fit(pod, of.Name); err != nil {
		return record.Death{}, err
	}
	s := statusOf(pod, of.Name)
	if s == nil {
		return record.Death{}, unfit("there is no status of container %s", of.Name)
	}
	t, err := terminated(s, of.ID)
	if err != nil {
		return record.Death{}, err
	}
	switch {
	case t.Message != m.Identity:
		return record.Death{}, unfit("its message is not the identity")
	case !reasons[t.Reason]:
		return record.Death{}, unfit("its reason %q is not a runtime's", t.Reason)
	case t.StartedAt.IsZero() || t.FinishedAt.IsZero() || t.FinishedAt.Before(&t.StartedAt):
		return record.Death{}, unfit("it does not say when the container started and ended")
	}
	return record.Death{
		Proof: record.ProofKubelet, Identity: m.Identity, At: t.FinishedAt.Time,
		How: fmt.Sprintf("its container %s ended: %s, exit status %d", of.ID, t.Reason, t.ExitCode),
	}, nil
}

// terminated is the end of the container with the id. The status may show it as the state now, or as the last one. The
// id must stand inside, beside the end; the id outside is that of the container now.
func terminated(s *corev1.ContainerStatus, id string) (*corev1.ContainerStateTerminated, error) {
	now, last := s.State.Terminated, s.LastTerminationState.Terminated
	switch {
	case s.State.Running != nil && s.ContainerID == id:
		return nil, unfit("the container runs")
	case now != nil && now.ContainerID == id && s.ContainerID == id:
		return now, nil
	case now != nil && now.ContainerID == id:
		return nil, unfit("the status names two containers")
	case last != nil && last.ContainerID == id:
		return last, nil
	}
	return nil, unfit("no end of container %s", id)
}
