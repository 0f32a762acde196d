package controller_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

func weigh(percent int) rollout.Step { return rollout.Step{SetWeight: percent} }

var untilPromoted = rollout.Step{Pause: &rollout.Pause{}}

// TestOneHalfAll rolls out to one election, to half of them, to all; then the controller writes the
// default and the rollout is complete.
func TestOneHalfAll(t *testing.T) {
	g := newGroup(t, 4)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "revisions"}, Data: map[string]string{"default": "red"}}
	if _, err := g.core.ConfigMaps(g.namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	g.join("red-1", "red")
	g.led(5, 0)
	g.join("green-1", "green")
	ranked := slices.SortedFunc(slices.Values(g.elections), func(a, b string) int {
		if rollout.RankOf(uid, a) < rollout.RankOf(uid, b) {
			return -1
		}
		return 1
	})
	g.start(weigh(25), untilPromoted, weigh(50), untilPromoted, weigh(100))
	g.phase(rollout.Paused, 2)
	g.led(4, 1)
	if got := revisionOf(g.locks.leaders()[ranked[0]]); got != "green" {
		t.Errorf("the first in rank is led by %s", got)
	}
	g.say(rollout.Plan.PromoteStep)
	g.phase(rollout.Paused, 4)
	g.led(3, 2)
	if got := revisionOf(g.locks.leaders()[ranked[1]]); got != "green" {
		t.Errorf("the second in rank is led by %s", got)
	}
	g.say(rollout.Plan.PromoteStep)
	g.phase(rollout.Complete, 5)
	g.led(0, 5)
	stored, err := g.core.ConfigMaps(g.namespace).Get(t.Context(), "revisions", metav1.GetOptions{})
	if err != nil || stored.Data["default"] != "green" {
		t.Errorf("the default is %v, %v", stored.Data, err)
	}
	for election, n := range g.locks.moved() {
		if n != 2 {
			t.Errorf("%s was taken %d times, want once by red and once by green", election, n)
		}
	}
}

// TestFailingCanaryIsTakenBack checks that, without a command, the controller rolls back a canary
// whose runner fails.
func TestFailingCanaryIsTakenBack(t *testing.T) {
	g := newGroup(t, 4)
	g.join("red-1", "red")
	g.led(5, 0)
	canary := g.join("green-1", "green")
	first := slices.MinFunc(g.elections, func(a, b string) int {
		if rollout.RankOf(uid, a) < rollout.RankOf(uid, b) {
			return -1
		}
		return 1
	})
	canary.fails.Store(&first)
	g.start(weigh(50), untilPromoted, weigh(100))
	p := g.phase(rollout.RolledBack, 0)
	if !strings.Contains(p.Status.Message, "runners, "+first) {
		t.Errorf("message %q", p.Status.Message)
	}
	g.led(5, 0)
}

// TestControllerDiesInMidStep cuts a controller off in the middle of a step. Another one must go on
// and repeat nothing.
func TestControllerDiesInMidStep(t *testing.T) {
	g := newGroup(t, 4)
	first := g.join("red-1", "red")
	g.led(5, 0)
	g.join("red-2", "red")
	g.join("green-1", "green")
	g.start(weigh(50), untilPromoted, weigh(100))
	before := g.phase(rollout.Paused, 2)
	g.led(3, 2)
	moved := g.locks.moved()
	first.cut.Store(true)
	after := g.plan("a status of another controller", func(p rollout.Plan) bool { return p.Status.Token > before.Status.Token })
	if got := after.Status; got.Step != 2 || got.Phase != rollout.Paused || !got.StepStarted.Equal(before.Status.StepStarted.Time) ||
		!slices.Equal(got.Reach.Names, before.Status.Reach.Names) || got.Reach.UpTo != before.Status.Reach.UpTo {
		t.Errorf("the next controller made of\n%+v\n%+v", *before.Status, *got)
	}
	g.led(3, 2)
	for election, holder := range g.locks.leaders() {
		if revisionOf(holder) == "green" && g.locks.moved()[election] != moved[election] {
			t.Errorf("%s moved again", election)
		}
	}
	g.say(rollout.Plan.PromoteStep)
	g.phase(rollout.Promoted, 0)
	g.led(0, 5)
}

// TestAbortWithoutController checks that members obey an abort while no controller works: the present
// one is cut off, and no other member may write a status.
func TestAbortWithoutController(t *testing.T) {
	g := newGroup(t, 4)
	first := g.join("red-1", "red")
	g.led(5, 0)
	others := []*member{g.join("red-2", "red"), g.join("green-1", "green")}
	g.start(weigh(50), untilPromoted, weigh(100))
	g.phase(rollout.Paused, 2)
	g.led(3, 2)
	for _, m := range others {
		m.mute.Store(true)
	}
	first.cut.Store(true)
	g.say(rollout.Plan.Abort)
	g.led(5, 0)
	if p := g.plan("aborted", func(p rollout.Plan) bool { return p.Rollout.Abort }); p.Status.Phase != rollout.Paused {
		t.Errorf("a controller wrote %s", p.Status.Phase)
	}
}

// TestStatusEditedByHand checks that nobody obeys a status that was edited by hand: nothing moves,
// and the controller writes its own status again.
func TestStatusEditedByHand(t *testing.T) {
	g := newGroup(t, 4)
	red := g.join("red-1", "red")
	g.led(5, 0)
	g.join("green-1", "green")
	g.start(weigh(25), untilPromoted, weigh(100))
	before := g.phase(rollout.Paused, 2)
	g.led(4, 1)
	moved := g.locks.moved()
	cms := g.core.ConfigMaps(g.namespace)
	cm, err := cms.Get(t.Context(), rollout.ObjectName(groupName), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	truth := cm.Data[rollout.KeyStatus]
	cm.Data[rollout.KeyStatus] = strings.Replace(truth, "step: 2", "step: 3", 1)
	if cm.Data[rollout.KeyStatus] == truth {
		t.Fatal("nothing was edited")
	}
	if cm, err = cms.Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	edited := cm.ResourceVersion
	watch, err := cms.Watch(t.Context(), metav1.ListOptions{ResourceVersion: edited, FieldSelector: "metadata.name=" + cm.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	var mended *corev1.ConfigMap
	select {
	case e := <-watch.ResultChan():
		mended, _ = e.Object.(*corev1.ConfigMap)
	case <-clock.NewTimer(longest).C:
		t.Fatal("nobody wrote the status again")
	}
	if mended == nil || mended.Data[rollout.KeyStatus] != truth {
		t.Fatalf("the controller wrote\n%+v\nwant\n%s", mended, truth)
	}
	p := g.phase(rollout.Paused, 2)
	if p.Status.Checksum != before.Status.Checksum || !maps.Equal(g.locks.moved(), moved) {
		t.Errorf("status %+v, moves %v", *p.Status, g.locks.moved())
	}
	select {
	case <-red.mended:
	case <-clock.NewTimer(longest).C:
		t.Error("nobody said that the status was edited")
	}
	red.stop()
	if n := len(red.mended); n != 0 {
		t.Errorf("it was said %d times more", n)
	}
}

// TestDeposedWritesNothing checks that a controller whose term is over, but that does not know it,
// writes nothing.
func TestDeposedWritesNothing(t *testing.T) {
	g := newGroup(t, 2)
	red := g.join("red-1", "red")
	g.led(3, 0)
	g.join("green-1", "green")
	g.start(weigh(50), untilPromoted, weigh(100))
	before := g.phase(rollout.Paused, 2)
	old := &member{group: g, plans: red.plans, cut: new(atomic.Bool), mute: new(atomic.Bool), puts: new(atomic.Int64)}
	log, said := hearing("the rollout does not go on")
	term := election.Term{Election: own, Identity: g.locks.leaders()[own], Token: record.Token(before.Status.Token) - 1}
	driver := old.driver(old.wired(), nil, log)
	forged, _ := election.NewTerm(term, 0)
	g.beside(func(ctx context.Context) error { return driver.Run(ctx, forged) })
	select {
	case <-said:
	case <-clock.NewTimer(longest).C:
		t.Fatal("it did not say that it is deposed")
	}
	g.say(rollout.Plan.PromoteStep) // gives a controller something to write
	g.phase(rollout.Promoted, 0)
	if n := old.puts.Load(); n != 0 {
		t.Errorf("it wrote %d times", n)
	}
}
