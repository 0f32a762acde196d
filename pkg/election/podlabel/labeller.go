package podlabel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	instant "github.com/primacy-dev/primacy/pkg/election/record"
)

const (
	// LeadsPrefix and the name of an election are the label of its leader's Pod. The value is the group.
	LeadsPrefix = "leads.primacy.dev/"
	// GroupPrefix and the name of a group are the label of each Pod that has labels of the group. The value is "leads".
	GroupPrefix = "group.primacy.dev/"

	leads = "leads"
)

// Wish is what the labels should say.
type Wish struct {
	// Asked: some election has a label.
	Asked bool
	// Leads are the elections with a label that this member leads now, with the tokens of its terms.
	Leads map[string]instant.Token
}

// Config is what a Labeller needs to know.
type Config struct {
	Pods coreclient.PodsGetter
	// Namespace, Pod and UID name the Pod of this member.
	Namespace, Pod string
	UID            types.UID
	Group          string
	// Wish is called whenever something may have changed.
	Wish func() Wish
	// Told: somebody has already said what this member lacks for its labels.
	Told  bool
	Clock clock.Clock
	Log   *zap.Logger
}

const (
	// patience is how long one request may take.
	patience = 5 * time.Second
	// first and longest bound the time before a failed request is tried again. It doubles each time.
	first, longest = time.Second, 30 * time.Second
	// deniedFor is the time before we try again what was denied.
	deniedFor = time.Minute
	// lookEvery is how often a leader looks whether its labels are there, and on no other Pod.
	lookEvery = time.Minute
	// perSecond and burst limit the requests of the process.
	perSecond, burst = 5, 20
)

// Labeller keeps the labels of one Pod. See the package.
type Labeller struct {
	cfg     Config
	changed chan struct{}

	// The goroutine of Run owns the rest.

	// on are the elections whose labels the Pod has; nil if that is not known.
	on map[string]bool
	// unsure: we do not know whether our last patch was done, so our Pod may have labels that it should not have.
	unsure bool
	// sole are the terms for which we have taken the label from all other Pods, and seen our own.
	sole map[string]instant.Token
	// looked is when we last listed the Pods of the group.
	looked instant.Instant
	wait   time.Duration // before the next attempt, after a failure
	told   bool

	tokens float64 // requests that may be sent at the instant filled
	filled instant.Instant
}

// New makes a Labeller.
func New(cfg Config) *Labeller {
	return &Labeller{
		cfg: cfg, changed: make(chan struct{}, 1), sole: map[string]instant.Token{}, told: cfg.Told,
		tokens: burst, filled: cfg.Clock.Now(),
	}
}

// Changed makes the Labeller ask for the Wish anew. Any goroutine may call it.
func (l *Labeller) Changed() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Run keeps the labels until the channel of a Manager's transitions is closed, which is when the Manager's Run has returned.
// Then it takes them away. Once ctx has ended it writes nothing more.
func (l *Labeller) Run(ctx context.Context, transitions <-chan election.ElectionTransition) {
	due := clock.NewTimer(0)
	defer due.Stop()
	for last := false; !last; {
		select {
		case t, open := <-transitions:
			if open && t.Event != election.EventRole && t.Event != election.EventLost {
				continue
			}
			last = !open
		case <-l.changed:
		case <-due.C:
		}
		last = drained(transitions) || last
		if last && l.on != nil && len(l.on) == 0 || ctx.Err() != nil {
			continue // nothing is left to do
		}
		if next := l.step(ctx); next > 0 {
			due.Reset(next)
		} else {
			due.Stop()
		}
	}
}

// drained takes what else has arrived, so that one patch has all of it. It says whether the channel is closed.
func drained(transitions <-chan election.ElectionTransition) (closed bool) {
	for {
		select {
		case _, open := <-transitions:
			if !open {
				return true
			}
		default:
			return false
		}
	}
}

// step does what there is to do, and says when to look again; 0 for not before something changes.
func (l *Labeller) step(ctx context.Context) (next time.Duration) {
	wish := l.cfg.Wish()
	if !wish.Asked && len(l.on) == 0 && !l.unsure {
		return 0 // we may lack the rights
	}
	switch err := l.bring(ctx, wish); {
	case err == nil:
		l.wait = 0
		if len(wish.Leads) == 0 {
			return 0
		}
		return lookEvery
	case apierrors.IsForbidden(err):
		if !l.told {
			l.cfg.Log.Warn("this member may not label Pods, so no Service follows its leadership (grant what primacy generate rbac prints)", zap.Error(err))
		}
		l.told = true
		return deniedFor
	case errors.Is(err, errNotOurs):
		l.cfg.Log.Debug("no Pod to label", zap.Error(err))
		return deniedFor
	default:
		l.wait = min(max(first, 2*l.wait), longest)
		l.cfg.Log.Debug("the labels of Pods could not be brought up to date", zap.Duration("again", l.wait), zap.Error(err))
		return l.wait
	}
}

// errNotOurs: the Pod is gone, or another one has its name.
var errNotOurs = errors.New("this member's Pod is gone")

// bring makes the labels of all Pods of the group say what they should about us.
func (l *Labeller) bring(ctx context.Context, wish Wish) error {
	if l.on == nil {
		if err := l.read(ctx); err != nil {
			return err
		}
	}
	if err := l.label(ctx, wish.Leads); err != nil {
		return err
	}
	maps.DeleteFunc(l.sole, func(e string, t instant.Token) bool { return wish.Leads[e] != t })
	if len(wish.Leads) == 0 || len(l.sole) == len(wish.Leads) && l.cfg.Clock.Now().Sub(l.looked) < lookEvery {
		return nil
	}
	if err := l.clear(ctx, wish.Leads); err != nil {
		return err
	}
	l.told = false // a denial is news from now on
	return nil
}

// read finds out which labels our Pod has.
func (l *Labeller) read(ctx context.Context) error {
	var pod *corev1.Pod
	err := l.request(ctx, func(ctx context.Context) (err error) {
		pod, err = l.pods().Get(ctx, l.cfg.Pod, metav1.GetOptions{})
		return err
	})
	switch {
	case apierrors.IsNotFound(err), err == nil && pod.UID != l.cfg.UID:
		return errNotOurs
	case err == nil:
		l.on, l.unsure = l.labelsOf(pod), false
	}
	return err
}

// labelsOf are the elections of the group that a Pod's labels name.
func (l *Labeller) labelsOf(pod *corev1.Pod) map[string]bool {
	on := map[string]bool{}
	for key, group := range pod.Labels {
		if e, ours := strings.CutPrefix(key, LeadsPrefix); ours && group == l.cfg.Group {
			on[e] = true
		}
	}
	return on
}

// label makes our own Pod have the labels of these elections, and no others of the group.
func (l *Labeller) label(ctx context.Context, of map[string]instant.Token) error {
	wanted := map[string]bool{}
	for e := range of {
		wanted[e] = true
	}
	if maps.Equal(l.on, wanted) {
		return nil
	}
	labels := map[string]any{GroupPrefix + l.cfg.Group: nil}
	for e := range l.on {
		labels[LeadsPrefix+e] = nil
	}
	for e := range wanted {
		labels[LeadsPrefix+e], labels[GroupPrefix+l.cfg.Group] = l.cfg.Group, leads
	}
	l.on, l.unsure = nil, true // until we know that it was done
	err := l.patch(ctx, l.cfg.Pod, map[string]any{"uid": l.cfg.UID, "labels": labels})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // the uid is another
		return errNotOurs
	case err == nil:
		l.on, l.unsure = wanted, false
	}
	return err
}

// clear takes the labels of the elections that we lead from all other Pods, and looks whether our own has them.
func (l *Labeller) clear(ctx context.Context, led map[string]instant.Token) error {
	var pods *corev1.PodList
	err := l.request(ctx, func(ctx context.Context) (err error) {
		pods, err = l.pods().List(ctx, metav1.ListOptions{LabelSelector: GroupPrefix + l.cfg.Group + "=" + leads})
		return err
	})
	if err != nil {
		return err
	}
	now := maps.Clone(l.cfg.Wish().Leads)
	maps.DeleteFunc(now, func(e string, t instant.Token) bool { return led[e] != t }) // lost meanwhile, or newly begun
	own := map[string]bool{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		has := l.labelsOf(pod)
		if pod.UID == l.cfg.UID {
			own = has
			continue
		}
		if err := l.strip(ctx, pod, has, now); err != nil {
			return err
		}
	}
	l.sole, l.looked = now, l.cfg.Clock.Now()
	l.on = own // somebody else may have taken some away
	return l.label(ctx, l.cfg.Wish().Leads)
}

// strip takes the labels of elections that we lead from another Pod, as it was when we listed it: it may have begun to
// lead since then.
func (l *Labeller) strip(ctx context.Context, pod *corev1.Pod, has map[string]bool, ours map[string]instant.Token) error {
	labels := map[string]any{}
	var stale []string
	for e := range has {
		if _, lead := ours[e]; lead {
			labels[LeadsPrefix+e] = nil
			stale = append(stale, e)
		}
	}
	if stale == nil {
		return nil
	}
	if len(stale) == len(has) {
		labels[GroupPrefix+l.cfg.Group] = nil
	}
	err := l.patch(ctx, pod.Name, map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion, "labels": labels})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	slices.Sort(stale)
	l.cfg.Log.Info("took the label of a leader from another Pod", zap.String("pod", pod.Name), zap.Strings("elections", stale))
	return nil
}

func (l *Labeller) pods() coreclient.PodInterface { return l.cfg.Pods.Pods(l.cfg.Namespace) }

func (l *Labeller) patch(ctx context.Context, pod string, metadata map[string]any) error {
	text, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	return l.request(ctx, func(ctx context.Context) error {
		_, err := l.pods().Patch(ctx, pod, types.MergePatchType, text, metav1.PatchOptions{})
		return err
	})
}

// request sends one request, as soon as the limit allows it.
func (l *Labeller) request(ctx context.Context, send func(context.Context) error) error {
	for {
		now := l.cfg.Clock.Now()
		l.tokens = min(burst, l.tokens+now.Sub(l.filled).Seconds()*perSecond)
		if l.filled = now; l.tokens >= 1 {
			break
		}
		if !clock.Wait(ctx, time.Duration((1-l.tokens)/perSecond*float64(time.Second))+time.Millisecond) {
			return ctx.Err()
		}
	}
	l.tokens--
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return send(ctx)
}
