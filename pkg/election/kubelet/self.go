package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/tries"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Place is what a process knows of itself.
type Place struct {
	// Namespace, Pod and UID are of its Pod. Container is the name of its container; it may be empty if the Pod has one.
	Namespace, Pod, UID, Container string
	// BootID is that of the kernel on which it runs, and Born is when the first process of its container began.
	BootID string
	Born   time.Time
}

// Here is the place of this process: the environment names the Pod, and the kernel says the rest.
func Here(getenv func(string) string) (Place, error) {
	p := Place{Namespace: getenv("POD_NAMESPACE"), Pod: getenv("POD_NAME"), UID: getenv("POD_UID"), Container: getenv("CONTAINER_NAME")}
	if p.Namespace == "" || p.Pod == "" || p.UID == "" {
		return p, errors.New("it is not known in which Pod this is (set POD_NAME, POD_UID and POD_NAMESPACE, as manifests/deployment.yaml does)")
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return p, fmt.Errorf("boot id: %w", err)
	}
	p.BootID = strings.TrimSpace(string(boot))
	stat, err := os.ReadFile("/proc/1/stat")
	if err != nil {
		return p, fmt.Errorf("first process: %w", err)
	}
	age, err := ageOf(string(stat))
	if err != nil {
		return p, fmt.Errorf("first process: %w", err)
	}
	p.Born = clock.Boottime().Wall().Add(-age)
	return p, nil
}

// ticks are those of the times in /proc: 100 a second on all platforms of Go.
const ticks = time.Second / 100

// ageOf is the age of the process that a line of /proc/PID/stat shows.
func ageOf(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const start = 22 - 3 // the fields after the name begin with the third
	if len(fields) <= start {
		return 0, fmt.Errorf("%.100q has no time of start", stat)
	}
	began, err := strconv.ParseInt(fields[start], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("time of start: %w", err)
	}
	return clock.Boottime().Now().Sub(record.Instant(time.Duration(began) * ticks)), nil
}

// Self is this process's own container.
type Self struct {
	Container record.Container
	// log is the path of the termination log.
	log string
}

// Announce writes the identity to the termination log, which the kubelet publishes when the container has ended. It
// does not make the file: if there is none, the kubelet does not read it either.
func (s Self) Announce(identity string) error {
	f, err := os.OpenFile(s.log, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("termination log: %w", err)
	}
	if _, err := f.WriteString(identity); err != nil {
		_ = f.Close() // the first error says more
		return fmt.Errorf("termination log: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("termination log: %w", err)
	}
	return nil
}

// findPause is the pause between two looks at our own Pod.
const findPause = 250 * time.Millisecond

// Find finds the container of this process by the status of its Pod. It waits until the kubelet has published that the
// container runs, or ctx ends. The errors that wrap ErrUnfit say why no kubelet can tell of this process.
func Find(ctx context.Context, client coreclient.CoreV1Interface, here Place) (Self, error) {
	var why tries.Why
	for again := 0; ; again++ {
		if again > 0 && !clock.Wait(ctx, findPause) {
			return Self{}, fmt.Errorf("own container: %w", why.Over(ctx))
		}
		pod, err := client.Pods(here.Namespace).Get(ctx, here.Pod, metav1.GetOptions{})
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			return Self{}, fmt.Errorf("own container: %w", err)
		}
		if err != nil {
			why.Failed(ctx, err)
			continue
		}
		self, err := own(pod, here)
		if errors.Is(err, errNotYet) {
			why.Failed(ctx, err)
			continue
		}
		if err != nil {
			return Self{}, fmt.Errorf("own container: %w", err)
		}
		node, err := client.Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			return Self{}, fmt.Errorf("own container: %w", err)
		}
		if err != nil {
			why.Failed(ctx, err)
			continue
		}
		// A virtual node, and a container with a kernel of its own, have another boot id than the process itself.
		if id := node.Status.NodeInfo.BootID; here.BootID == "" || id != here.BootID {
			return Self{}, fmt.Errorf("own container: %w", unfit("node %s has booted as %q, and this kernel as %q", node.Name, id, here.BootID))
		}
		self.Container.Node, self.Container.NodeUID, self.Container.BootID = node.Name, string(node.UID), here.BootID
		return self, nil
	}
}

// errNotYet says that the status of our Pod is not yet that of our container.
var errNotYet = errors.New("the Pod's status does not show this container yet")

// own is the container of this process, if the status of its Pod shows it already.
func own(pod *corev1.Pod, here Place) (Self, error) {
	if string(pod.UID) != here.UID {
		return Self{}, unfit("Pod %s has the uid %s, not %s", pod.Name, pod.UID, here.UID)
	}
	name := here.Container
	if name == "" {
		if len(pod.Spec.Containers) != 1 {
			return Self{}, unfit("Pod %s has several containers (set CONTAINER_NAME to the name of this one)", pod.Name)
		}
		name = pod.Spec.Containers[0].Name
	}
	c, err := fit(pod, name)
	if err != nil {
		return Self{}, err
	}
	s := statusOf(pod, name)
	switch {
	case s == nil || s.State.Running == nil || s.ContainerID == "":
		return Self{}, errNotYet
	// The status shows whole seconds. An earlier start of this container began before ours, so the status is stale.
	// One that began in the very second in which ours did passes; its id does us no harm, see the package.
	case s.State.Running.StartedAt.Time.Before(here.Born.Truncate(time.Second)):
		return Self{}, fmt.Errorf("%w: it began at %s, and this one at %s", errNotYet, s.State.Running.StartedAt.UTC().Format(time.RFC3339), here.Born.UTC().Format(time.RFC3339))
	case s.LastTerminationState.Terminated != nil && s.LastTerminationState.Terminated.ContainerID == s.ContainerID:
		return Self{}, fmt.Errorf("%w: it has ended, too", errNotYet)
	case !containerID.MatchString(s.ContainerID):
		return Self{}, unfit("container %q is none of a runtime that we know", s.ContainerID)
	}
	return Self{
		Container: record.Container{Namespace: pod.Namespace, Pod: pod.Name, PodUID: string(pod.UID), Name: name, ID: s.ContainerID},
		log:       c.TerminationMessagePath,
	}, nil
}
