package kubelet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
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
)

// NodeListener ends the sessions of members on nodes that an operator marks as switched off, by the taint
// node.kubernetes.io/out-of-service.
//
// The taint speaks of the boot that the node had when the taint came, and only of sessions whose last beat was stored
// before the taint. So it does not speak of a member that began on the node after the taint, or of one that began after
// the node was switched on again while the taint was still there. It speaks once, when the listener sees it come. A
// listener that did not see it come cannot know which sessions were there before, and ends none.
type NodeListener struct {
	Nodes coreclient.NodeInterface
	// Sessions is the store of the group's sessions. One etcd must store them and the nodes, since we compare their versions.
	Sessions lock.Store
	Group    string
	// Name is that of the listening member, for the record.
	Name  string
	Clock clock.Clock
	Log   *zap.Logger

	// The goroutine of Run owns known: the nodes as they were last seen.
	known map[string]nodeState
	// sees: it has watched the nodes already.
	sees bool
	// buried joins the burials.
	buried sync.WaitGroup
}

// nodeState is what matters of a node.
type nodeState struct {
	uid  types.UID
	boot string
	// out: it has the taint.
	out bool
}

func stateOf(n *corev1.Node) nodeState {
	out := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
	return nodeState{n.UID, n.Status.NodeInfo.BootID, out}
}

// listTime is how long a look at the sessions may take.
const listTime = 10 * time.Second

// Run listens until ctx ends. When it returns, all burials have ended.
func (l *NodeListener) Run(ctx context.Context) {
	defer l.buried.Wait()
	again(ctx, l.follow, func(err error) {
		l.Log.Warn("the nodes are not seen, so nobody hears that one is out of service", zap.Error(err))
	})
}

// follow lists the nodes and then watches them, until the watch ends. A taint that a list shows does not speak: we do not
// know when it came.
func (l *NodeListener) follow(ctx context.Context) error {
	source := listwatch.Source{Watch: l.Nodes.Watch, List: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return l.Nodes.List(ctx, o)
	}}
	return source.Once(ctx, listwatch.Listener{
		Listed: func(o runtime.Object) error {
			list, err := objectOf[*corev1.NodeList](o)
			if err != nil {
				return err
			}
			l.known = map[string]nodeState{}
			for i := range list.Items {
				l.known[list.Items[i].Name] = stateOf(&list.Items[i])
			}
			return nil
		},
		Watching: func() {
			if !l.sees {
				l.sees = true
				l.Log.Info("the nodes are watched: from now on a taint that comes speaks of the members before it")
			}
		},
		Changed: func(e watch.Event) error { return l.changed(ctx, e) },
	})
}

// changed handles a change of a node. A taint speaks if this is the very write that brought it.
func (l *NodeListener) changed(ctx context.Context, e watch.Event) error {
	n, err := objectOf[*corev1.Node](e.Object)
	if err != nil {
		return err
	}
	before, now := l.known[n.Name], stateOf(n)
	l.known[n.Name] = now
	if e.Type == watch.Deleted {
		delete(l.known, n.Name)
		return nil
	}
	if now.out && !before.out && before.uid == now.uid {
		at, err := strconv.ParseUint(n.ResourceVersion, 10, 64)
		if err != nil {
			return fmt.Errorf("watch nodes: version %q: %w", n.ResourceVersion, err)
		}
		l.buried.Go(func() { l.bury(ctx, n.Name, now, at) })
	}
	return nil
}

// bury ends the sessions on a node that have not beaten since the taint was stored, in the version at.
func (l *NodeListener) bury(ctx context.Context, name string, node nodeState, at uint64) {
	sessions, err := l.list(ctx)
	if err != nil {
		l.Log.Warn("a node is out of service, but the sessions cannot be read: they lapse", zap.String("node", name), zap.Error(err))
		return
	}
	taint := session.Taint{NodeUID: string(node.uid), BootID: node.boot, At: at}
	for _, e := range sessions {
		if !taint.SpeaksOf(l.Group, session.Shown(e)) {
			continue
		}
		d := election.Death{
			Proof: election.ProofOutOfService, Identity: e.Record.Holder, By: "taint, seen by " + l.Name,
			How: fmt.Sprintf("its node %s is out of service", name), At: l.Clock.Wall(),
		}
		l.buried.Go(func() {
			carryOut(ctx, l.Clock, l.Sessions, e, d, l.Log.With(zap.String("identity", d.Identity), zap.String("node", name)))
		})
	}
}

// list lists the objects of the realm, as they are now.
func (l *NodeListener) list(ctx context.Context) (all []lock.Entry, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	listed := false
	err = l.Sessions.Watch(ctx, func(e lock.Event) {
		if e.Kind == lock.Listed && !listed {
			all, listed = e.List, true
			cancel()
		}
	})
	if listed {
		return all, nil
	}
	return nil, errors.Join(err, context.Cause(ctx))
}
