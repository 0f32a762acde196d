package steering_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/revisions/mapstest"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// TestUnreadableHistoryStays checks that Edit refuses a word that adds a line to a history that nobody can read, that the
// text stays, and that Edit takes other words.
func TestUnreadableHistoryStays(t *testing.T) {
	maps := mapstest.New()
	spec := rollout.Spec{
		UID: "0123456789abcdef", Stable: "blue", Canary: "green", AcquireTimeout: time.Minute, Steps: []rollout.Step{{SetWeight: 100}},
	}
	say := func(word func(rollout.Plan) (rollout.Plan, error)) error {
		return steering.Edit(t.Context(), maps, group, func(p *rollout.Plan) (err error) {
			*p, err = word(*p)
			return err
		})
	}
	if err := say(func(p rollout.Plan) (rollout.Plan, error) { return p.Start(spec, time.Now()) }); err != nil {
		t.Fatal(err)
	}
	stored := func() *corev1.ConfigMap {
		t.Helper()
		cm, err := maps.Get(t.Context(), object, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return cm
	}
	const broken = "- {uid: 0123456789abcdef, stabel: blue}\n"
	cm := stored()
	cm.Data[rollout.KeyHistory] = broken
	if _, err := maps.Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := say(rollout.Plan.Abort); err != nil {
		t.Errorf("abort: %v", err)
	}
	err := say(func(p rollout.Plan) (rollout.Plan, error) { return p.End(time.Now()) })
	if err == nil || !strings.Contains(err.Error(), "history:1:") {
		t.Errorf("end: %v", err)
	}
	if data := stored().Data; data[rollout.KeyHistory] != broken || data[rollout.KeyRollout] == "" {
		t.Errorf("stored: %q", data)
	}
}
