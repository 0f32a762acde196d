package steering

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/object"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// Source combines the plan of a group with a default source.
type Source struct {
	maps      coreclient.ConfigMapInterface
	object    object.Object
	byDefault election.Preferences
	clock     clock.Clock
	log       *zap.Logger
	gauge     revisions.Gauge

	mu      sync.Mutex
	sight   Sight
	changed chan struct{} // closed when sight is replaced
}

var (
	_ election.Preferences = (*Source)(nil)
	_ revisions.Dated      = (*Source)(nil)
)

// Sight is what a Source knows.
type Sight struct {
	// Plan is the stored plan; nil before we know it.
	Plan *rollout.Plan
	// Default is what the default source says; nil before it has said anything.
	Default election.Preference
}

// New makes the source of a group whose locks are in the namespace. A nil byDefault prefers no revision. The clock says when parts of the
// plan end; nil is clock.Boottime(). A nil log means that nothing is logged.
func New(client coreclient.ConfigMapsGetter, namespace, group string, byDefault election.Preferences, clk clock.Clock, log *zap.Logger) *Source {
	maps, name := client.ConfigMaps(namespace), rollout.ObjectName(group)
	env := revisions.Env{Log: log}.Defaults()
	if byDefault == nil {
		byDefault = revisions.NewSwitch(nil)
	}
	if clk == nil {
		clk = clock.Boottime()
	}
	return &Source{
		maps: maps, byDefault: byDefault, changed: make(chan struct{}), clock: clk,
		log: env.Log.With(zap.String("configMap", namespace+"/"+name)),
		object: object.Object{
			Name:  name,
			List:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return maps.List(ctx, o) },
			Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return maps.Watch(ctx, o) },
			Place: fmt.Sprintf("configmap %s in namespace %s", name, namespace),
		},
	}
}

// notSynced is what the default source says before it has answered.
var notSynced = record.Preferred{State: record.PreferredNotSynced}

// Watch implements election.Preferences. Drains and pauses count once we know the plan. Until we know the default too, pins and the
// rollout do not count, and nothing moves to a better member. Watch never gives up: if the default source gives up, the
// default's last value stays. Watch must not be called again before it has returned.
func (s *Source) Watch(ctx context.Context, deliver func(election.Preference)) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		err := s.byDefault.Watch(ctx, func(p election.Preference) { s.see(func(x *Sight) { x.Default = p }) })
		if err != nil {
			s.log.Error("source of the default revision failed for good; keeping its last value", zap.Error(err))
		}
	})
	l := &listener{Source: s}
	if sight, _ := s.Sight(); sight.Plan != nil {
		l.last = *sight.Plan
	}
	wg.Go(func() { s.object.Follow(ctx, l) })
	last := notSynced.Digest() // a member begins with this preference, so we need not deliver it
	for {
		sight, changed := s.Sight()
		var ends time.Time
		if sight.Plan != nil {
			plan := sight.Plan.At(s.clock.Wall())
			ends = plan.Ends()
			byDefault := sight.Default
			if byDefault == nil {
				byDefault = notSynced // drains and pauses count all the same
			}
			// Most changes of the plan report progress and concern no election.
			if next := Combine(plan, byDefault); next.Digest() != last {
				last = next.Digest()
				deliver(next)
			}
		}
		if !s.until(ctx, changed, ends) {
			return nil
		}
	}
}

// clockCheck bounds a wait for a wall-clock time, since somebody may set the clock.
const clockCheck = time.Minute

// until waits for a change, or for a part of the plan to end, or for its turn to look again; false if ctx ends.
func (s *Source) until(ctx context.Context, changed <-chan struct{}, ends time.Time) bool {
	var due <-chan struct{}
	if !ends.IsZero() {
		timer := clock.NewTimer(min(ends.Sub(s.clock.Wall()), clockCheck))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-changed:
	case <-due:
	case <-ctx.Done():
		return false
	}
	return true
}

// Sight returns what is known now. The channel closes when that changes.
func (s *Source) Sight() (Sight, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sight, s.changed
}

func (s *Source) see(change func(*Sight)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.sight)
	close(s.changed)
	s.changed = make(chan struct{})
}

// Freshness implements revisions.Dated, for the plan.
func (s *Source) Freshness() revisions.Freshness { return s.gauge.Freshness() }

// Default returns how old the default source's last value is; a source that is not Dated is always
// fresh.
func (s *Source) Default() revisions.Freshness {
	if dated, ok := s.byDefault.(revisions.Dated); ok {
		return dated.Freshness()
	}
	return revisions.Freshness{Known: true}
}

// Combine returns what elections prefer according to a plan and a default.
func Combine(plan rollout.Plan, byDefault election.Preference) election.Preference {
	// The default may differ between elections and name no single revision: use its digest in place
	// of a revision.
	whole := record.Preferred{State: record.PreferredSet, Revision: byDefault.Digest()}
	return &combined{plan: plan, byDefault: byDefault, digest: plan.Digest(whole)}
}

type combined struct {
	plan      rollout.Plan
	byDefault election.Preference
	digest    string
}

func (c *combined) Digest() string { return c.digest }

func (c *combined) For(name string) record.Preferred {
	return c.plan.Preferred(name, c.byDefault.For(name))
}

// listener receives the ConfigMap. It belongs to the goroutine that follows the ConfigMap.
type listener struct {
	*Source
	// last is the plan last read from the ConfigMap.
	last rollout.Plan
	// mistakes and silence are the texts last logged; empty while all is well.
	mistakes, silence string
}

// Shown implements object.Listener.
func (l *listener) Shown(o runtime.Object) error {
	var data map[string]string
	if o != nil {
		cm, ok := o.(*corev1.ConfigMap)
		if !ok {
			return fmt.Errorf("want a ConfigMap, got a %T", o)
		}
		data = cm.Data
	}
	plan, err := rollout.Read(data, l.last)
	l.note(err)
	if plan.Digest(record.Prefer("")) != l.last.Digest(record.Prefer("")) {
		l.log.Info("pins or rollout changed", zap.Int("pins", len(plan.Pins)), zap.String("rollout", string(plan.Phase())),
			zap.String("drained", string(plan.DrainedHosts())), zap.Bool("paused", plan.Standstill != nil))
	}
	l.last = plan
	l.see(func(x *Sight) { x.Plan = &plan })
	return nil
}

// note logs which parts of the plan cannot be read, once for each such error.
func (l *listener) note(err error) {
	if err == nil {
		l.gauge.Says()
		if l.mistakes != "" {
			l.mistakes = ""
			l.log.Info("pins and rollout can be read again")
		}
		return
	}
	l.gauge.Kept(revisions.ContentRefused)
	if text := err.Error(); text != l.mistakes {
		l.mistakes = text
		l.log.Warn("pins or rollout are malformed; keeping the last good ones (without any, nothing moves) until the ConfigMap is corrected", zap.Error(err))
	}
}

// Unreadable implements object.Listener.
func (l *listener) Unreadable(kind string, err error) {
	l.gauge.Kept(revisions.NotReadable)
	kind = "reason: " + kind
	if kind == l.silence {
		return
	}
	l.silence = kind
	l.log.Warn("cannot read pins and rollout; keeping the last ones (without any, nothing moves), and retrying", zap.Error(err))
}

// Readable implements object.Listener.
func (l *listener) Readable() {
	age := l.gauge.Freshness().Age
	l.gauge.Followed()
	if l.silence != "" {
		l.silence = ""
		l.log.Info("pins and rollout are followed again", zap.Duration("age", age))
	}
}
