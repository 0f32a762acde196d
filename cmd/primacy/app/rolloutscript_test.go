package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// scriptGroup is the group of all scripts about rollouts.
const scriptGroup = "edge"

func (s *scripts) rolloutMaps(ts *testscript.TestScript) coreclient.ConfigMapInterface {
	core, err := coreclient.NewForConfig(s.cluster.Config)
	ts.Check(err)
	return core.ConfigMaps(ts.Getenv("NS"))
}

// stored writes the stored pins and rollout to a file, with their version.
func (s *scripts) stored(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	text := "absent\n"
	switch m, err := s.rolloutMaps(ts).Get(ctx, rollout.ObjectName(scriptGroup), metav1.GetOptions{}); {
	case err == nil:
		text = "version " + m.ResourceVersion + "\n"
		for _, key := range slices.Sorted(maps.Keys(m.Data)) {
			text += key + ":\n" + m.Data[key]
		}
	case !apierrors.IsNotFound(err):
		ts.Check(err)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// controller writes the status of the present rollout, as the controller would: controller PHASE STEP
// ELECTION..., with these elections in reach of the rollout. In a failed phase the status says that a
// runner failed.
func (s *scripts) controller(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	step, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(steering.Edit(ctx, s.rolloutMaps(ts), scriptGroup, func(p *rollout.Plan) error {
		if p.Rollout == nil {
			return fmt.Errorf("there is no rollout")
		}
		r, now := p.Rollout, rollout.At(time.Now())
		p.Status = &rollout.Status{
			UID: r.UID, Stable: r.Stable, Canary: r.Canary, Generation: r.Generation, Retry: r.Retry, Forgive: r.Forgive,
			Phase: rollout.Phase(args[0]), Step: step, Began: now, StepStarted: now, Reach: rollout.Reach{Names: append([]string(nil), args[2:]...)},
			Message: "this is " + strings.ToLower(args[0]),
		}
		if p.Status.Phase == rollout.RolledBack || p.Status.Phase == rollout.Degraded {
			p.Status.Failures = []rollout.Failure{{Check: "runners", Election: "one", What: "its runners failed", At: now}}
		}
		return nil
	}))
}

// usurp makes an identity that is no member the holder of a Lease, for so long that no member claims it:
// usurp LEASE.
func (s *scripts) usurp(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	client, err := coordinationclient.NewForConfig(s.cluster.Config)
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	now := metav1.NowMicro()
	_, err = client.Leases(ts.Getenv("NS")).Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: args[0]},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("somebody"), LeaseDurationSeconds: new(int32(7200)), AcquireTime: &now, RenewTime: &now, LeaseTransitions: new(int32(1)),
		},
	}, metav1.CreateOptions{})
	ts.Check(err)
}

// forge edits a key of the stored rollout, like a person by hand: forge KEY OLD NEW.
func (s *scripts) forge(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3)
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	maps := s.rolloutMaps(ts)
	m, err := maps.Get(ctx, rollout.ObjectName(scriptGroup), metav1.GetOptions{})
	ts.Check(err)
	text := strings.ReplaceAll(m.Data[args[0]], args[1], args[2])
	if text == m.Data[args[0]] {
		ts.Fatalf("%s says nothing of %q:\n%s", args[0], args[1], text)
	}
	m.Data[args[0]] = text
	_, err = maps.Update(ctx, m, metav1.UpdateOptions{})
	ts.Check(err)
}

// agreed waits until all members publish a preference that begins with the argument.
func (s *scripts) agreed(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	s.published(ts, func(m *record.Member) string { return m.Preference }, func(preference string) bool { return strings.HasPrefix(preference, args[0]) })
}

// lags waits until all members publish a reason why they do not go by their configuration that matches; none is "-".
func (s *scripts) lags(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	wanted := regexp.MustCompile(args[0])
	s.published(ts, func(m *record.Member) string { return cmp.Or(m.Lags, "-") }, wanted.MatchString)
}

// published waits until what all members publish fits.
func (s *scripts) published(ts *testscript.TestScript, what func(*record.Member) string, fits func(string) bool) {
	client, err := lease.NewClient(s.cluster.Config)
	ts.Check(err)
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	seen, listed := map[string]string{}, false
	ts.Check(lease.In(client, ts.Getenv("NS")).Watch(ctx, func(e lock.Event) {
		listed = listed || e.Kind == lock.Listed
		for _, e := range append(e.List, e.Entry) {
			if e.Record != nil && e.Record.Member != nil && e.Record.Holder != "" {
				seen[e.Name] = what(e.Record.Member)
			} else {
				delete(seen, e.Name)
			}
		}
		rest := maps.Clone(seen)
		if maps.DeleteFunc(rest, func(_, text string) bool { return fits(text) }); listed && len(rest) == 0 {
			listed = false
			cancel()
		}
	}))
	if context.Cause(ctx) != context.Canceled {
		ts.Fatalf("members publish %v, which does not fit", seen)
	}
}
