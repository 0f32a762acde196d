package policy_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/fence/policy"
)

// site is an election with its lock, its policy, and an object.
type site struct {
	*world
	election, object, key string
}

// trial is a write under the policy of an election.
type trial struct {
	name string
	// lock is the token in the lock; "none" if it has none, "absent" if there is no lock.
	lock string
	kind policy.Kind // of the lock; a Lease if empty
	// stored is the stamp of an object that is there before; empty for none.
	stored string
	write  func(ctx context.Context, s site) error
	// without removes the rule that refuses the write; nil if the write must pass.
	without func(*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding)
	// says is part of the refusal.
	says string
}

// rule names the rules that refuse a write.
func rule(those ...int) func(*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding) {
	return func(p *admissionv1.ValidatingAdmissionPolicy, _ *admissionv1.ValidatingAdmissionPolicyBinding) {
		for _, n := range those {
			p.Spec.Validations[n].Expression = "true"
		}
	}
}

// The rules of a Fence, by their order.
const (
	ruleLock = iota
	ruleToken
	ruleStored
	ruleDeleted
	ruleVersion
)

func create(stamp string) func(context.Context, site) error {
	return func(ctx context.Context, s site) error {
		_, err := s.member.CoreV1().ConfigMaps(s.namespace).Create(ctx, configMap(s.object, s.key, stamp), metav1.CreateOptions{})
		return err
	}
}

func update(labels ...string) func(context.Context, site) error {
	return func(ctx context.Context, s site) error { return updateBy(ctx, s, s.member, labels...) }
}

func updateBy(ctx context.Context, s site, by *kubernetes.Clientset, labels ...string) error {
	labels = slices.Clone(labels)
	for i, a := range labels {
		labels[i] = strings.ReplaceAll(a, "KEY", s.key)
	}
	o := configMap(s.object, labels...)
	o.Data = map[string]string{"k": "v"}
	_, err := by.CoreV1().ConfigMaps(s.namespace).Update(ctx, o, metav1.UpdateOptions{})
	return err
}

func remove(of func(ctx context.Context, s site) (metav1.DeleteOptions, error)) func(context.Context, site) error {
	return func(ctx context.Context, s site) error {
		options, err := of(ctx, s)
		if err != nil {
			return err
		}
		return s.member.CoreV1().ConfigMaps(s.namespace).Delete(ctx, s.object, options)
	}
}

func seenVersion(ctx context.Context, s site) (metav1.DeleteOptions, error) {
	o, err := s.member.CoreV1().ConfigMaps(s.namespace).Get(ctx, s.object, metav1.GetOptions{})
	if err != nil {
		return metav1.DeleteOptions{}, err
	}
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &o.ResourceVersion}}, nil
}

func anyVersion(context.Context, site) (metav1.DeleteOptions, error) {
	return metav1.DeleteOptions{}, nil
}

// setStatus writes the status of a Deployment that a leader of an earlier term has stamped.
func setStatus(ctx context.Context, s site) error {
	api := s.admin.AppsV1().Deployments(s.namespace)
	labels := map[string]string{"app": s.object}
	o, err := api.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: s.object, Labels: map[string]string{s.key: "4"}},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	o.Labels[s.key] = "5" // the API server ignores it in a status
	o.Status.Replicas = 1
	_, err = s.member.AppsV1().Deployments(s.namespace).UpdateStatus(ctx, o, metav1.UpdateOptions{})
	return err
}

var trials = []trial{
	// Those without a lock come first: nothing shows when the API server has learned of their policies.
	{name: "no lock", lock: "absent", write: create("5"), says: "no params found", without: func(_ *admissionv1.ValidatingAdmissionPolicy, b *admissionv1.ValidatingAdmissionPolicyBinding) {
		allow := admissionv1.AllowAction
		b.Spec.ParamRef.ParameterNotFoundAction = &allow
	}},
	{name: "a token beyond all", lock: "9999999999999999999", write: create("5"), says: "", without: func(p *admissionv1.ValidatingAdmissionPolicy, _ *admissionv1.ValidatingAdmissionPolicyBinding) {
		ignore := admissionv1.Ignore
		p.Spec.FailurePolicy = &ignore
	}},
	{name: "a lock without token", lock: "none", write: create("5"), without: rule(ruleLock), says: "has no token: no write passes"},
	{name: "a corrupt token", lock: "abc", write: create("5"), without: rule(ruleLock), says: "has no token: no write passes"},
	{name: "a negative token", lock: "-5", write: create("5"), without: rule(ruleLock), says: "has no token"},
	{name: "a token of 0", lock: "0", write: create("5"), without: rule(ruleLock), says: "has no token"},
	{name: "a ConfigMap lock without token", lock: "none", kind: policy.ConfigMap, write: create("5"), without: rule(ruleLock), says: "ConfigMap"},
	{name: "an earlier term", lock: "5", write: create("4"), without: rule(ruleToken), says: "token 4: Lease"},
	{name: "an earlier term of a ConfigMap lock", lock: "5", kind: policy.ConfigMap, write: create("4"), without: rule(ruleToken), says: "token 4: ConfigMap"},
	{name: "no token", lock: "5", stored: "5", write: update("other", "v"), without: rule(ruleToken, ruleStored), says: "no token: Lease"},
	{name: "no labels", lock: "5", stored: "5", write: update(), without: rule(ruleToken, ruleStored), says: "no token: Lease"},
	{name: "a token that is none", lock: "5", stored: "5", write: update("KEY", "x6"), without: rule(ruleToken, ruleStored), says: "no token: Lease"},
	{name: "an object of a later term", lock: "5", stored: "9", write: update("KEY", "7"), without: rule(ruleStored), says: "token 7: the object was written with token 9"},
	{name: "a delete by an earlier term", lock: "5", stored: "4", write: remove(seenVersion), without: rule(ruleDeleted), says: "stamp it before you delete it"},
	{name: "a delete of any version", lock: "5", stored: "5", write: remove(anyVersion), without: rule(ruleVersion), says: "needs the precondition resourceVersion"},
	{name: "a status by an earlier term", lock: "5", write: setStatus, says: "token 4: Lease", without: func(p *admissionv1.ValidatingAdmissionPolicy, _ *admissionv1.ValidatingAdmissionPolicyBinding) {
		for i := range p.Spec.MatchConstraints.ResourceRules {
			r := &p.Spec.MatchConstraints.ResourceRules[i]
			r.Resources = r.Resources[:1]
		}
	}},

	{name: "the present term", lock: "5", write: create("5")},
	{name: "a later term", lock: "5", stored: "5", write: update("KEY", "6")}, // the API server may not have seen its lock
	{name: "the last term of an object", lock: "5", stored: "4", write: update("KEY", "5")},
	{name: "a delete", lock: "5", stored: "5", write: remove(seenVersion)},
	{name: "a ConfigMap lock", lock: "5", kind: policy.ConfigMap, write: create("5")},
	{name: "an object of nobody", lock: "5", write: func(ctx context.Context, s site) error {
		_, err := s.member.CoreV1().ConfigMaps(s.namespace).Create(ctx, configMap(s.object), metav1.CreateOptions{})
		return err
	}},
	{name: "another election's object", lock: "5", write: func(ctx context.Context, s site) error {
		_, err := s.member.CoreV1().ConfigMaps(s.namespace).Create(ctx, configMap(s.object, fence.StampKey("another"), "1"), metav1.CreateOptions{})
		return err
	}},
	{name: "an object of nobody without a lock", lock: "absent", write: func(ctx context.Context, s site) error {
		_, err := s.member.CoreV1().ConfigMaps(s.namespace).Create(ctx, configMap(s.object), metav1.CreateOptions{})
		return err
	}},
	{name: "somebody else", lock: "5", stored: "4", write: func(ctx context.Context, s site) error { return updateBy(ctx, s, s.admin) }},
}

// TestFence tries writes under the policy on the API server. Those that it must refuse pass once the one rule that
// refuses them is removed.
func TestFence(t *testing.T) {
	w := newWorld(t)
	for i, tt := range trials {
		w.stage(t, tt, fmt.Sprintf("e%d", i), nil)
		if tt.without != nil {
			w.stage(t, tt, fmt.Sprintf("e%d-less", i), tt.without)
		}
	}
	w.await(t)
	for i, tt := range trials {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.write(t.Context(), w.site(fmt.Sprintf("e%d", i)))
			switch {
			case tt.without == nil && err != nil:
				t.Errorf("refused: %v", err)
			case tt.without != nil && (!refused(err) || !strings.Contains(err.Error(), tt.says)):
				t.Errorf("want a refusal with %q: %v", tt.says, err)
			}
			if err != nil {
				t.Log(err)
			}
			if tt.without == nil {
				return
			}
			if err := tt.write(t.Context(), w.site(fmt.Sprintf("e%d-less", i))); err != nil {
				t.Errorf("without its rule: %v", err)
			}
		})
	}
}

func (w *world) site(election string) site {
	return site{world: w, election: election, object: "of-" + election, key: fence.StampKey(election)}
}

func (w *world) fenceOf(election string, kind policy.Kind) policy.Fence {
	if kind == "" {
		kind = policy.Lease
	}
	return policy.Fence{
		Group: "edge", Election: election, Lock: policy.LockRef{Kind: kind, Namespace: w.namespace, Name: "lock-" + election},
		Writers: []string{memberOf(w.namespace)}, Resources: []schema.GroupResource{{Resource: "configmaps"}, {Group: "apps", Resource: "deployments"}},
	}
}

// stage makes an election's lock, object and policy, the latter without one rule.
func (w *world) stage(t *testing.T, tt trial, election string, without func(*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding)) {
	t.Helper()
	var token []string
	if tt.lock != "none" {
		token = []string{"primacy.dev/token", tt.lock}
	}
	var err error
	switch {
	case tt.lock == "absent":
	case tt.kind == policy.ConfigMap:
		_, err = w.admin.CoreV1().ConfigMaps(w.namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "lock-" + election, Annotations: pairs(token)}}, metav1.CreateOptions{})
	default:
		_, err = w.admin.CoordinationV1().Leases(w.namespace).Create(t.Context(), leaseOf("lock-"+election, token...), metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	s := w.site(election)
	if tt.stored != "" {
		if _, err := w.admin.CoreV1().ConfigMaps(w.namespace).Create(t.Context(), configMap(s.object, s.key, tt.stored), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	f := w.fenceOf(election, tt.kind)
	p, b := f.Policy(), f.Binding()
	if without != nil {
		without(p, b)
	}
	w.establish(t, p, b)
}

// await returns once the API server enforces all policies that were made before.
func (w *world) await(t *testing.T) {
	t.Helper()
	w.stage(t, trial{lock: "5"}, "last", nil)
	s := w.site("last")
	takesEffect(t, func() error {
		_, err := w.member.CoreV1().ConfigMaps(w.namespace).Create(t.Context(), configMap("probe", s.key, "1"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
}

// TestFenceLeavesOthersAlone removes the condition that only members are refused: then others are, too.
func TestFenceLeavesOthersAlone(t *testing.T) {
	w := newWorld(t)
	w.stage(t, trial{lock: "5", stored: "4"}, "e", func(p *admissionv1.ValidatingAdmissionPolicy, _ *admissionv1.ValidatingAdmissionPolicyBinding) {
		p.Spec.MatchConditions = p.Spec.MatchConditions[1:]
	})
	w.await(t)
	s := w.site("e")
	if err := updateBy(t.Context(), s, s.admin, s.key, "4"); !refused(err) {
		t.Errorf("passed: %v", err)
	}
}
