package kubelet

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/internal/listwatch"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Listener ends the sessions of members whose containers have ended.
type Listener struct {
	// Pods are those of the members, in one namespace, and Sessions the store of their sessions.
	Pods     coreclient.PodInterface
	Sessions lock.Store
	Group    string
	// Name is that of the listening member, for the record.
	Name  string
	Clock clock.Clock
	Log   *zap.Logger

	// The goroutine of Run owns heard: the ends that it has looked at, by the Pod.
	heard map[types.UID]map[end]bool
	// buried joins the burials.
	buried sync.WaitGroup
}

// end is one end of a container, as a status says.
type end struct{ container, message string }

// mostSlots is how many sessions of one host we look through.
const mostSlots = 8

// pauseAfter is the pause before the next list and watch: longer if the API server refuses them.
func pauseAfter(err error) time.Duration {
	if err == nil { // the stream has ended in order, as each one does after some minutes
		return 100 * time.Millisecond
	}
	return 5 * time.Second
}

// Run listens until ctx ends. When it returns, all burials have ended.
func (l *Listener) Run(ctx context.Context) {
	defer l.buried.Wait()
	l.heard = map[types.UID]map[end]bool{}
	again(ctx, l.follow, func(err error) {
		l.Log.Warn("the Pods are not seen, so nobody hears what kubelets say of dead members", zap.Error(err))
	})
}

// again calls follow until ctx ends. It passes on only the first failure: follow goes on by itself, and without words
// nothing worse happens than that sessions lapse.
func again(ctx context.Context, follow func(context.Context) error, failed func(error)) {
	for said := false; ctx.Err() == nil; {
		err := follow(ctx)
		if ctx.Err() == nil && !said && err != nil {
			said = true
			failed(err)
		}
		clock.Wait(ctx, pauseAfter(err))
	}
}

// follow lists the Pods and then watches them, until the watch ends.
func (l *Listener) follow(ctx context.Context) error {
	source := listwatch.Source{Watch: l.Pods.Watch, List: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return l.Pods.List(ctx, o)
	}}
	return source.Once(ctx, listwatch.Listener{
		Listed: func(o runtime.Object) error {
			list, err := objectOf[*corev1.PodList](o)
			if err != nil {
				return err
			}
			present := map[types.UID]bool{}
			for i := range list.Items {
				present[list.Items[i].UID] = true
				l.hear(ctx, &list.Items[i])
			}
			maps.DeleteFunc(l.heard, func(uid types.UID, _ map[end]bool) bool { return !present[uid] })
			return nil
		},
		Changed: func(e watch.Event) error {
			pod, err := objectOf[*corev1.Pod](e.Object)
			switch {
			case err != nil:
				return err
			case e.Type == watch.Deleted: // a Pod that is gone proves nothing
				delete(l.heard, pod.UID)
			default:
				l.hear(ctx, pod)
			}
			return nil
		},
	})
}

// objectOf is what a list or a watch shows, if it has the type that we asked for. A watch shows a status when it fails.
func objectOf[T runtime.Object](o runtime.Object) (is T, err error) {
	if is, ok := o.(T); ok {
		return is, nil
	}
	return is, apierrors.FromObject(o)
}

// hear looks at the ends in a Pod's status, each once: a word that did not count, or was refuted, never counts.
func (l *Listener) hear(ctx context.Context, pod *corev1.Pod) {
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		for _, t := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
			if t == nil || !record.OurForm(t.Message) {
				continue
			}
			one := end{t.ContainerID, t.Message}
			if l.heard[pod.UID][one] {
				continue
			}
			if l.heard[pod.UID] == nil {
				l.heard[pod.UID] = map[end]bool{}
			}
			l.heard[pod.UID][one] = true
			l.buried.Go(func() { l.bury(ctx, pod, t.Message) })
		}
	}
}

// bury ends the session of the identity, if the Pod's status is a proof of its death.
func (l *Listener) bury(ctx context.Context, pod *corev1.Pod, identity string) {
	log := l.Log.With(zap.String("identity", identity), zap.String("pod", pod.Name))
	seen, found, err := l.session(ctx, identity)
	if err != nil {
		log.Warn("a container has ended, but the sessions cannot be read: that of its member lapses", zap.Error(err))
		return
	}
	if !found {
		return // it has ended already, as after each restart in order
	}
	d, err := ended(pod, seen.Record.Member)
	if err != nil {
		log.Info("a container has ended, but that proves nothing of its member", zap.Error(err))
		return
	}
	d.By = "kubelet, heard by " + l.Name
	carryOut(ctx, l.Clock, l.Sessions, seen, d, log)
}

// carryOut ends a session on a word, and logs what came of it.
func carryOut(ctx context.Context, c clock.Clock, sessions lock.Store, seen lock.Entry, d election.Death, log *zap.Logger) {
	ctx, cancel := context.WithTimeout(ctx, max(seen.Record.Duration, time.Second))
	defer cancel()
	switch err := election.BuryOnWord(ctx, c, sessions, seen, d); {
	case err == nil:
		log.Info("its session is over, since its member was said to be dead", zap.String("by", d.By), zap.String("how", d.How))
	case errors.Is(err, election.ErrRefuted):
		log.Warn("a member was said to be dead, but it lives", zap.String("by", d.By), zap.Error(err))
	default:
		log.Info("the session was not ended on a word: it lapses", zap.String("by", d.By), zap.Error(err))
	}
}

// mostLooks is how often we look for the session of an identity: a word that is given up is lost, since each is heard once.
// With the pauses between them the looks go on for half a minute, or for one and a half if the store answers nobody.
const mostLooks = 6

// session is the session of the identity, if it has not ended. It looks again where the store does not answer.
func (l *Listener) session(ctx context.Context, identity string) (e lock.Entry, found bool, err error) {
	for n := range mostLooks {
		if n > 0 && !clock.Wait(ctx, pauseAfter(err)) {
			break
		}
		if e, found, err = l.look(ctx, identity); err == nil {
			break
		}
	}
	return e, found, err
}

// look is one look for the session of the identity.
func (l *Listener) look(ctx context.Context, identity string) (e lock.Entry, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	for n := range mostSlots {
		e, err = l.Sessions.Get(ctx, session.SlotName(l.Group, record.HostOf(identity), n))
		switch {
		case err != nil || e.Record == nil:
			return e, false, err
		case e.Record.Bound() && e.Record.Holder == identity && e.Record.Member != nil:
			return e, true, nil
		}
	}
	return e, false, nil
}
