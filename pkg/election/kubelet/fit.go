package kubelet

import (
	"errors"
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
)

// ErrUnfit says that what a kubelet says of a container proves nothing.
var ErrUnfit = errors.New("no proof")

func unfit(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnfit, fmt.Sprintf(format, args...))
}

// containerID matches ids of the runtimes that number every start of a container anew.
var containerID = regexp.MustCompile(`^(containerd|cri-o)://[0-9a-f]{64}$`)

// mirrors are the annotations of mirror Pods. Such a Pod comes from a file of its node, and its object in the API may
// outlive it.
var mirrors = []string{corev1.MirrorPodAnnotationKey, "kubernetes.io/config.source"}

// fit returns the container of the Pod if the end of that container would end all of its processes, as the kubelet
// sees it.
func fit(pod *corev1.Pod, name string) (*corev1.Container, error) {
	for _, key := range mirrors {
		if _, mirror := pod.Annotations[key]; mirror {
			return nil, unfit("the Pod is a mirror of a file on its node")
		}
	}
	for _, o := range pod.OwnerReferences {
		if o.Kind == "Node" {
			return nil, unfit("the Pod is a mirror of a file on its node")
		}
	}
	s := &pod.Spec
	switch {
	case s.RuntimeClassName != nil:
		return nil, unfit("runtimeClass %s may have a kernel of its own, whose processes the kubelet does not see", *s.RuntimeClassName)
	case s.HostPID:
		return nil, unfit("with hostPID, processes outlive the container")
	case s.ShareProcessNamespace != nil && *s.ShareProcessNamespace:
		return nil, unfit("with shareProcessNamespace, processes outlive the container")
	case s.NodeName == "":
		return nil, unfit("the Pod is on no node")
	}
	for i := range s.Containers {
		c := &s.Containers[i]
		if c.Name != name {
			continue
		}
		if c.TerminationMessagePolicy != corev1.TerminationMessageReadFile {
			return nil, unfit("the termination message of container %s may come from its log (leave terminationMessagePolicy at File)", name)
		}
		return c, nil
	}
	return nil, unfit("the Pod has no container %s", name)
}

// statusOf is the status of the container.
func statusOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == name {
			return s
		}
	}
	return nil
}
