package steering

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// Stored is a plan as it was read, with what Replace needs.
type Stored struct {
	Plan rollout.Plan
	// Mistakes says which parts of the plan cannot be read, as a strict.Errors; nil if all can.
	Mistakes error

	group string
	// object is the ConfigMap that holds the plan; nil if there is none yet.
	object *corev1.ConfigMap
}

// Load reads the plan of a group.
func Load(ctx context.Context, client coreclient.ConfigMapInterface, group string) (Stored, error) {
	return load(ctx, client, group, rollout.Plan{})
}

// load reads the plan of a group. For unreadable parts it takes those of the known plan.
func load(ctx context.Context, client coreclient.ConfigMapInterface, group string, known rollout.Plan) (Stored, error) {
	s := Stored{group: group}
	object, err := client.Get(ctx, rollout.ObjectName(group), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		s.Plan, s.Mistakes = rollout.Read(nil, rollout.Plan{})
		return s, nil
	case err != nil:
		return s, fmt.Errorf("read pins and rollout: %w", err)
	}
	s.object = object
	s.Plan, s.Mistakes = rollout.Read(object.Data, known)
	return s, nil
}

// broken returns the keys whose text cannot be read.
func (s Stored) broken() map[string]bool {
	keys := map[string]bool{}
	var errs strict.Errors
	if errors.As(s.Mistakes, &errs) {
		for _, e := range errs {
			keys[e.File] = true
		}
	}
	return keys
}

// Readable says whether the text under a key can be read, or is missing.
func (s Stored) Readable(key string) bool { return !s.broken()[key] }

// ErrContended: others changed the plan before us each time.
var ErrContended = errors.New("others kept changing pins and rollout at the same time (try again)")

// tries is how often Edit tries again after others wrote.
const tries = 20

// Edit changes the plan of a group: it reads the plan, calls change, and stores the changed plan if
// nobody else has stored anything since. Otherwise it begins again, so change may be called several
// times. Edit returns an error of change as it is. It writes nothing after such an error, or if the
// plan stays the same. It leaves unreadable parts as they are stored.
func Edit(ctx context.Context, client coreclient.ConfigMapInterface, group string, change func(*rollout.Plan) error) error {
	return EditKnowing(ctx, client, group, rollout.Plan{}, func(p *rollout.Plan, _ Stored) error { return change(p) })
}

// EditKnowing is Edit for a caller that knows an earlier plan: where a part cannot be read, change
// gets the part of the known plan. The unreadable text stays as it is stored, unless it is the
// status.
func EditKnowing(ctx context.Context, client coreclient.ConfigMapInterface, group string, known rollout.Plan, change func(*rollout.Plan, Stored) error) error {
	for try := range tries {
		stored, err := load(ctx, client, group, known)
		if err != nil {
			return err
		}
		plan := stored.Plan
		if err := change(&plan, stored); err != nil {
			return err
		}
		err = stored.Replace(ctx, client, plan)
		if !stored.raced(err) {
			return err
		}
		if !clock.Wait(ctx, rand.N(10*time.Millisecond<<min(try, 5))) { // #nosec G404 -- spreads retries
			return ctx.Err()
		}
	}
	return ErrContended
}

// Replace stores plan in place of s.Plan, if that is still the stored plan. If it is not, the error
// is an API conflict.
func (s Stored) Replace(ctx context.Context, client coreclient.ConfigMapInterface, plan rollout.Plan) error {
	before, err := s.Plan.Encode()
	if err != nil {
		return err
	}
	if !s.Readable(rollout.KeyStatus) {
		delete(before, rollout.KeyStatus) // the controller writes the status again
	}
	after, err := plan.Encode()
	if err != nil {
		return err
	}
	if before[rollout.KeyHistory] != after[rollout.KeyHistory] && !s.Readable(rollout.KeyHistory) {
		return fmt.Errorf("cannot add to the history, since what is stored of it cannot be read: %w (correct or remove the key %s of configmap %s)",
			s.Mistakes, rollout.KeyHistory, rollout.ObjectName(s.group))
	}
	if s.object == nil {
		if len(after) == 0 {
			return nil
		}
		_, err := client.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: rollout.ObjectName(s.group), Labels: s.labels(nil)}, Data: after,
		}, metav1.CreateOptions{})
		return s.stored(err)
	}
	data := s.merged(before, after, plan)
	if maps.Equal(data, s.object.Data) {
		return nil
	}
	next := s.object.DeepCopy() // carries the version and uid that we read
	next.Data, next.Labels = data, s.labels(next.Labels)
	_, err = client.Update(ctx, next, metav1.UpdateOptions{})
	return s.stored(err)
}

// merged returns the data for the plan. A key whose meaning does not change keeps its text. So does
// an unreadable key, unless the plan has a new value for it or dropped it.
func (s Stored) merged(before, after map[string]string, plan rollout.Plan) map[string]string {
	data := maps.Clone(s.object.Data)
	if data == nil {
		data = map[string]string{}
	}
	for _, key := range rollout.Keys {
		was, wasGiven := before[key]
		is, given := after[key]
		switch {
		case given && (!wasGiven || was != is):
			data[key] = is
		case given:
		case slices.Contains(plan.Unreadable, key):
		case key == rollout.KeyHistory && !s.Readable(key):
		default:
			delete(data, key)
		}
	}
	return data
}

func (s Stored) labels(labels map[string]string) map[string]string {
	if labels = maps.Clone(labels); labels == nil {
		labels = map[string]string{}
	}
	labels[lock.GroupLabel], labels[lock.ManagedByLabel] = s.group, lock.ManagedBy
	return labels
}

// raced says whether err means that somebody else was faster. NotFound for a create means that the
// namespace is missing, which is no race.
func (s Stored) raced(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) && s.object != nil
}

func (s Stored) stored(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("store pins and rollout: %w (needed on configmap %s: get, update; and create where there is none)", err, rollout.ObjectName(s.group))
	case !refused(err):
		return fmt.Errorf("store pins and rollout: %w (it may be stored nevertheless: look before you do it again)", err)
	}
	return fmt.Errorf("store pins and rollout: %w", err)
}

// refused says whether an API server has answered that it stored nothing.
func refused(err error) bool {
	var api apierrors.APIStatus
	return errors.As(err, &api) && api.Status().Code < http.StatusInternalServerError && !apierrors.IsUnexpectedServerError(err)
}
