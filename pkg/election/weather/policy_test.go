package weather_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// policy is an admission policy that changes what members write.
type policy struct {
	name string
	// of is a CEL expression: which objects of the trial's namespace it changes.
	of string
	// patch is a CEL expression of JSON patches.
	patch string
}

const (
	// aLock and aSession are true of objects that are locks, or sessions.
	aLock    = `!object.metadata.name.startsWith('primacy-')`
	aSession = `object.metadata.name.startsWith('primacy-')`
	// isHeldOn says that an update leaves the holder as it is.
	isHeldOn = `oldObject != null && has(object.metadata.annotations) && has(oldObject.metadata.annotations) && 'primacy.dev/holder' in object.metadata.annotations`
)

// having says that the object has an annotation of ours.
func having(annotation string) string {
	return fmt.Sprintf(`has(object.metadata.annotations) && 'primacy.dev/%s' in object.metadata.annotations`, annotation)
}

// removal is a patch that takes an annotation of ours away.
func removal(annotation string) string {
	return fmt.Sprintf(`[JSONPatch{op: "remove", path: "/metadata/annotations/primacy.dev~1%s"}]`, annotation)
}

// apply creates the policy; lift deletes it again.
func (c *crew) apply(p policy) (lift func()) {
	c.t.Helper()
	client, err := admissionclient.NewForConfig(c.cluster.Config)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx := context.Background()
	name := p.name + "." + c.namespace
	rule := func(group, resource string) admissionv1.NamedRuleWithOperations {
		return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource}},
		}}
	}
	match, fail := admissionv1.Equivalent, admissionv1.Fail
	made, err := client.MutatingAdmissionPolicies().Create(ctx, &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			FailurePolicy:      &fail,
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy:   &match,
				ResourceRules: []admissionv1.NamedRuleWithOperations{rule("coordination.k8s.io", "leases"), rule("", "configmaps")},
			},
			MatchConditions: []admissionv1.MatchCondition{{Name: "trial", Expression: fmt.Sprintf("object.metadata.namespace == '%s' && %s", c.namespace, p.of)}},
			Mutations:       []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{Expression: p.patch}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	_, err = client.MutatingAdmissionPolicyBindings().Create(ctx, &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: made.Name},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	lift = func() {
		for _, remove := range []func(context.Context, string, metav1.DeleteOptions) error{
			client.MutatingAdmissionPolicyBindings().Delete, client.MutatingAdmissionPolicies().Delete,
		} {
			if err := remove(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				c.t.Error(err)
			}
		}
	}
	c.t.Cleanup(lift)
	return lift
}

// TestWritesThatAdmissionChanges checks that a write which is stored otherwise than sent is no success: no
// term begins or goes on by it. Once the policy is gone, all elections are led again by themselves.
func TestWritesThatAdmissionChanges(t *testing.T) {
	t.Parallel()
	for _, p := range []policy{
		{"strips", aLock + " && " + having("holder"), removal("holder")},
		{"freezes", aLock + " && " + isHeldOn, `[JSONPatch{op: "replace", path: "/metadata/annotations", value: oldObject.metadata.annotations}]`},
		{"strips-sessions", aSession + " && " + having("member"), removal("member")},
		{"strips-beats", aSession + " && " + having("beat"), removal("beat")},
		{"ends-sessions", aSession + " && has(object.spec)", `[JSONPatch{op: "replace", path: "/spec/holderIdentity", value: ""}]`},
	} {
		t.Run(p.name, func(t *testing.T) {
			c := newCrew(t)
			m1 := c.join("m1")
			c.led(m1)
			m2 := c.join("m2")
			lift := c.apply(p)
			c.await("a member that says what is wrong", func() bool {
				return m1.warned("stored otherwise than sent") || m2.warned("stored otherwise than sent")
			})
			c.watch(timing.LeaseDuration)
			lift()
			c.led(m1, m2)
		})
	}
}

// TestMembersThatComeBeneathAPolicy checks the same with a policy that is there before any member, so that
// it changes their first writes.
func TestMembersThatComeBeneathAPolicy(t *testing.T) {
	c := newCrew(t)
	lift := c.apply(policy{"strips", aLock + " && " + having("holder"), removal("holder")})
	m1, m2 := c.join("m1"), c.join("m2")
	c.await("a member that says what is wrong", func() bool {
		return m1.warned("stored otherwise than sent") || m2.warned("stored otherwise than sent")
	})
	c.watch(timing.LeaseDuration)
	lift()
	c.led(m1, m2)
}

// refuse creates a policy that denies releases of the lock, and returns once it is in force.
func (c *crew) refuse(lock string) {
	c.t.Helper()
	client, err := admissionclient.NewForConfig(c.cluster.Config)
	if err != nil {
		c.t.Fatal(err)
	}
	name, match, fail := "refuse."+c.namespace, admissionv1.Equivalent, admissionv1.Fail
	made, err := client.ValidatingAdmissionPolicies().Create(c.t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy: &match,
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{"coordination.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"leases"}},
				}}},
			},
			MatchConditions: []admissionv1.MatchCondition{{Name: "trial", Expression: fmt.Sprintf("object.metadata.namespace == '%s' && object.metadata.name == '%s'", c.namespace, lock)}},
			Validations:     []admissionv1.Validation{{Expression: "has(object.spec.holderIdentity) && object.spec.holderIdentity != ''"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = client.ValidatingAdmissionPolicies().Delete(context.Background(), name, metav1.DeleteOptions{})
		_ = client.ValidatingAdmissionPolicyBindings().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	_, err = client.ValidatingAdmissionPolicyBindings().Create(c.t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: made.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	leases, err := coordinationclient.NewForConfig(c.cluster.Config)
	if err != nil {
		c.t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; { // no watch shows when a policy comes into force
		l, err := leases.Leases(c.namespace).Get(c.t.Context(), lock, metav1.GetOptions{})
		if err != nil {
			c.t.Fatal(err)
		}
		l.Spec.HolderIdentity = new("")
		_, err = leases.Leases(c.namespace).Update(c.t.Context(), l, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
			return
		case time.Now().After(end):
			c.t.Fatalf("the policy is not in force: %v", err)
		}
		c.watch(timing.RenewInterval / 10)
	}
}

// TestALockThatNobodyMayRelease checks that another member takes a lock that its holder cannot release
// because a policy denies it (rule disowned-for-good). The holder's other elections don't move.
func TestALockThatNobodyMayRelease(t *testing.T) {
	c := newCrew(t)
	m1 := c.join("m1")
	c.led(m1)
	m2 := c.join("m2")
	c.settled(m2)
	c.refuse(bySession)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := m1.manager.Remove(ctx, bySession); err != nil {
		t.Fatal(err)
	}
	c.ledOne(bySession, m2)
	for _, e := range []string{byRecord, inConfigMap} {
		c.ledOne(e, m1)
		if n := c.terms(e); n != 1 {
			t.Errorf("%s: %d terms, want 1", e, n)
		}
	}
	if !m1.warned("could neither release nor use") {
		t.Error("m1 released the lock: this shows nothing")
	}
}
