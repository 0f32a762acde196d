package steering_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

type want = map[string]record.Preferred

var blue, green, red = record.Prefer("blue"), record.Prefer("green"), record.Prefer("red")

const changed = "pins or rollout changed"

// TestPins checks that a pin comes first, then the default. Without a pin or a rollout the digest is
// the default's, so that members that know nothing of pins publish the same digest.
func TestPins(t *testing.T) {
	b := newBench(t, newRealm(t))
	b.byDefault <- blue
	if p := b.next(want{"a": blue, "b": blue}); p.Digest() != "blue" {
		t.Errorf("digest %s", p.Digest())
	}
	b.edit(t, pin("a", "green"))
	b.Says(changed)
	pinned := b.next(want{"a": green, "b": blue, "never-heard-of": blue})
	b.byDefault <- red
	if p := b.next(want{"a": green, "b": red}); p.Digest() == pinned.Digest() {
		t.Errorf("the digest %s tells no defaults apart", p.Digest())
	}
	b.edit(t, func(p *rollout.Plan) (err error) {
		*p, err = p.PinTo(rollout.Pin{Election: "a", Member: "m1"})
		return err
	})
	b.Says(changed)
	b.next(want{"a": {State: record.PreferredSet, Revision: "red", Member: "m1"}, "b": red})
	if err := b.maps.Delete(t.Context(), object, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.Says(changed)
	if p := b.next(want{"a": red}); p.Digest() != "red" {
		t.Errorf("digest %s", p.Digest())
	}
	b.Quiet()
}

// TestRollout checks that a rollout decides as soon as it is stored, and that a report of its
// progress moves nothing.
func TestRollout(t *testing.T) {
	b := newBench(t, newRealm(t))
	b.byDefault <- blue
	b.next(want{"a": blue})
	spec := rollout.Spec{
		UID: "0123456789abcdef", Stable: "blue", Canary: "green", AcquireTimeout: time.Minute,
		Steps: []rollout.Step{{Elections: []string{"a"}}, {SetWeight: 100}},
	}
	b.edit(t, func(p *rollout.Plan) (err error) {
		*p, err = p.Start(spec, time.Now())
		return err
	})
	b.Says(changed)
	b.next(want{"a": blue})
	b.byDefault <- red
	b.next(want{"a": blue, "b": blue}) // the rollout's stable revision, whatever the default says by now
	status := rollout.Status{
		UID: spec.UID, Stable: "blue", Canary: "green", Generation: 1, Phase: rollout.Progressing, Step: 1,
		Began: rollout.At(time.Now()), StepStarted: rollout.At(time.Now()), Reach: rollout.Reach{Names: []string{"a"}},
	}
	report := func(s rollout.Status) {
		b.edit(t, func(p *rollout.Plan) error { p.Status = &s; return nil })
	}
	report(status)
	b.Says(changed)
	b.next(want{"a": green, "b": blue})
	status.Moved, status.Message = 1, "one of one"
	report(status)
	b.until("the counters are seen", func(s steering.Sight) bool { return s.Plan.Status.Moved == 1 })
	b.edit(t, func(p *rollout.Plan) (err error) {
		*p, err = p.Abort()
		return err
	})
	b.Says(changed)
	back := blue
	back.Blocked = "green"
	b.next(want{"a": back, "b": back})
	b.Quiet()
}

// TestMalformed checks that an unreadable text moves nothing, and is logged once, with its place.
func TestMalformed(t *testing.T) {
	b := newBench(t, newRealm(t))
	b.byDefault <- blue
	b.next(want{"a": blue})
	b.edit(t, pin("a", "green"))
	b.Says(changed)
	b.next(want{"a": green})

	const broken = "- {election: a, revision: red}\n- {election: b, revison: red}\n"
	b.write(t, map[string]string{rollout.KeyPins: broken})
	b.Says("pins or rollout are malformed", "pins:2:17: [1].revison: unknown field (did you mean revision?)")
	if f := b.source.Freshness(); !f.Known || f.Kept != revisions.ContentRefused {
		t.Errorf("freshness %+v", f)
	}
	b.write(t, map[string]string{"note": "still broken"})
	b.byDefault <- red
	b.next(want{"a": green, "b": red}) // the last pins stay, and elections follow the default
	b.Quiet()
	b.write(t, map[string]string{rollout.KeyPins: "- {election: b, revision: green}\n"})
	b.Says("pins and rollout can be read again")
	b.Says(changed)
	b.next(want{"a": red, "b": green})
	if f := b.source.Freshness(); f != (revisions.Freshness{Known: true}) {
		t.Errorf("freshness %+v", f)
	}
	b.Quiet()
}

// TestMalformedAtFirst checks that nothing moves for a member that starts while the pins are
// malformed, and so knows no pins.
func TestMalformedAtFirst(t *testing.T) {
	r := newRealm(t)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: object}, Data: map[string]string{rollout.KeyPins: "{"}}
	if _, err := r.maps.Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, r)
	b.byDefault <- blue
	b.Says("pins or rollout are malformed")
	b.Says(changed)
	b.next(want{"a": {State: record.PreferredNotSynced}})
}

// TestNothingBeforeBoth checks that no election prefers a revision before the source knows both the plan and the
// default.
func TestNothingBeforeBoth(t *testing.T) {
	b := newBench(t, newRealm(t))
	b.until("the plan is known", func(s steering.Sight) bool { return s.Plan != nil })
	b.Quiet()
	b.byDefault <- blue
	b.next(want{"a": blue})
}

// TestWordsBeforeTheDefault checks that a pause and a drain count for a member whose default source is silent.
func TestWordsBeforeTheDefault(t *testing.T) {
	b := newBench(t, newRealm(t))
	b.edit(t, func(p *rollout.Plan) (err error) {
		if *p, err = p.Stand(rollout.Standstill{At: rollout.At(time.Now()), Until: rollout.At(time.Now().Add(time.Hour)), NoTakeover: true}); err != nil {
			return err
		}
		*p, err = p.Drain(rollout.Drain{Member: "m1", At: rollout.At(time.Now())})
		return err
	})
	b.Says(changed)
	said := record.Preferred{State: record.PreferredNotSynced, Drained: "m1", Paused: true, NoTakeover: true}
	b.next(want{"a": said})
	said.State, said.Revision = record.PreferredSet, "blue"
	b.byDefault <- blue
	b.next(want{"a": said})
	b.Quiet()
}

// TestDefaultGivesUp checks that the last value of a default source that gives up stays, and that the
// source still follows the plan.
func TestDefaultGivesUp(t *testing.T) {
	b := newBench(t, newRealm(t))
	b.byDefault <- blue
	b.next(want{"a": blue})
	b.giveUp <- errors.New("planted")
	b.Says("source of the default revision failed for good; keeping its last value", "planted")
	b.edit(t, pin("a", "green"))
	b.Says(changed)
	b.next(want{"a": green, "b": blue})
}
