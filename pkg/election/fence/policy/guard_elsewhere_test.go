package policy_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/election/fence/policy"
)

// TestGuardElsewhere checks that a policy for a namespace of locks alone guards the named ones, and nothing that only looks like
// a session; and that its name differs from that of a group whose sessions are there.
func TestGuardElsewhere(t *testing.T) {
	w := newWorld(t)
	editor := w.editor(t)
	g := policy.Guard{Group: "edge", Home: "home", Namespace: w.namespace, Writers: []string{memberOf(w.namespace)}, Leases: []string{"work"}, ConfigMaps: []string{"map"}}
	there := g
	there.Home = w.namespace
	if g.Name() == there.Name() || there.Name() != (policy.Guard{Group: "edge", Namespace: w.namespace}).Name() {
		t.Errorf("names %s and %s", g.Name(), there.Name())
	}
	w.establish(t, g.Policy(), g.Binding())
	takesEffect(t, func() error {
		_, err := editor.CoordinationV1().Leases(w.namespace).Create(t.Context(), leaseOf("work"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
	if _, err := w.member.CoordinationV1().Leases(w.namespace).Create(t.Context(), leaseOf("work"), metav1.CreateOptions{}); err != nil {
		t.Errorf("a member: %v", err)
	}
	for _, a := range onLeases[:5] {
		if err := a.do(t.Context(), editor, w.namespace, "work"); !refused(err) {
			t.Errorf("%s: %v", a.name, err)
		}
	}
	if _, err := editor.CoreV1().ConfigMaps(w.namespace).Create(t.Context(), configMap("map"), metav1.CreateOptions{}); !refused(err) {
		t.Errorf("a ConfigMap lock: %v", err)
	}
	for _, theirs := range []string{"theirs", "primacy-edge-host-0"} {
		if _, err := editor.CoordinationV1().Leases(w.namespace).Create(t.Context(), leaseOf(theirs), metav1.CreateOptions{}); err != nil {
			t.Errorf("%s: %v", theirs, err)
		}
	}
}
