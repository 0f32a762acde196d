package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// Kind is a kind of lock object.
type Kind string

const (
	Lease     Kind = "Lease"
	ConfigMap Kind = "ConfigMap"
)

// LockRef names a lock object.
type LockRef struct {
	Kind            Kind
	Namespace, Name string
}

// Fence refuses a member's write to an object that members of the election write, unless the object carries the token of
// the present term. An object belongs to the election once it has the election's stamp. While there is no lock, nobody may
// write such an object.
type Fence struct {
	Group, Election string
	// Namespace is that of the sessions; empty for that of the lock.
	Namespace string
	Lock      LockRef
	// Writers are the user names of members. The policy leaves the writes of others alone.
	Writers []string
	// Resources are the kinds of objects, by names as ParseResource reads them. Their status belongs to them.
	Resources []schema.GroupResource
}

// Name is the name of the policy and of its binding, which differs between all elections of a cluster.
func (f Fence) Name() string {
	return strings.Join([]string{f.Election, f.Group, cmp.Or(f.Namespace, f.Lock.Namespace), "fence.primacy.dev"}, ".")
}

// Policy makes the policy.
func (f Fence) Policy() *admissionv1.ValidatingAdmissionPolicy {
	p := newPolicy(f.Name())
	p.Spec.ParamKind = &admissionv1.ParamKind{APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: string(Lease)}
	if f.Lock.Kind == ConfigMap {
		p.Spec.ParamKind = &admissionv1.ParamKind{APIVersion: corev1.SchemeGroupVersion.String(), Kind: string(ConfigMap)}
	}
	key := quote(fence.StampKey(f.Election))
	p.Spec.MatchConstraints = matches(f.Resources, "status")
	// Without a lock the API server refuses everything that this selects, whoever writes it.
	p.Spec.MatchConstraints.ObjectSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: fence.StampKey(f.Election), Operator: metav1.LabelSelectorOpExists},
	}}
	p.Spec.MatchConditions = []admissionv1.MatchCondition{
		{Name: "by-a-member", Expression: "request.userInfo.username in " + list(f.Writers)},
	}
	p.Spec.Variables = slices.Concat(
		token("lock", "params", "annotations", quote(codec.TokenAnnotation)),
		token("stamp", "object", "labels", key),
		token("stored", "oldObject", "labels", key),
	)
	lockIs := fmt.Sprintf("%s %s/%s of election %s", f.Lock.Kind, f.Lock.Namespace, f.Lock.Name, f.Election)
	p.Spec.Validations = []admissionv1.Validation{
		refuse("variables.lock > 0", quote(lockIs+" has no token: no write passes before a member has taken it")),
		refuse("request.operation == 'DELETE' || variables.stamp >= variables.lock",
			fmt.Sprintf("(variables.stamp == 0 ? 'no token' : 'token ' + string(variables.stamp)) + %s + string(variables.lock)", quote(": "+lockIs+" has token "))),
		refuse("request.operation == 'DELETE' || variables.stamp >= variables.stored",
			"'token ' + string(variables.stamp) + ': the object was written with token ' + string(variables.stored)"),
		refuse("request.operation != 'DELETE' || variables.stored >= variables.lock",
			fmt.Sprintf("'the object has ' + (variables.stored == 0 ? 'no token' : 'token ' + string(variables.stored)) + %s + string(variables.lock) + ': stamp it before you delete it'", quote(", and "+lockIs+" has token "))),
		refuse("request.operation != 'DELETE' || request.options.?preconditions.?resourceVersion.hasValue()",
			quote("a delete needs the precondition resourceVersion, that of the object with your stamp")),
	}
	return p
}

// Binding makes the binding of the policy to the lock.
func (f Fence) Binding() *admissionv1.ValidatingAdmissionPolicyBinding {
	b := newBinding(f.Name())
	deny := admissionv1.DenyAction
	b.Spec.ParamRef = &admissionv1.ParamRef{Name: f.Lock.Name, Namespace: f.Lock.Namespace, ParameterNotFoundAction: &deny}
	return b
}

// token makes a variable of the number in an annotation or label; 0 if there is none. A number that is too large for CEL is an error,
// and so a refusal.
func token(name, object, of, key string) []admissionv1.Variable {
	text := name + "Text"
	return []admissionv1.Variable{
		{Name: text, Expression: fmt.Sprintf("%s == null ? '' : %s.metadata.?%s[?%s].orValue('')", object, object, of, key)},
		{Name: name, Expression: fmt.Sprintf("variables.%s.matches('^[1-9][0-9]{0,18}$') ? int(variables.%s) : 0", text, text)},
	}
}

func newPolicy(name string) *admissionv1.ValidatingAdmissionPolicy {
	fail := admissionv1.Fail
	return &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{lock.ManagedByLabel: lock.ManagedBy}},
		Spec:       admissionv1.ValidatingAdmissionPolicySpec{FailurePolicy: &fail},
	}
}

func newBinding(name string) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{lock.ManagedByLabel: lock.ManagedBy}},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
}

// matches are writes to the resources and these subresources of theirs.
func matches(resources []schema.GroupResource, subresources ...string) *admissionv1.MatchResources {
	m := &admissionv1.MatchResources{}
	for _, r := range resources {
		rule := admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
			Rule:       admissionv1.Rule{APIGroups: []string{r.Group}, APIVersions: []string{"*"}, Resources: []string{r.Resource}},
		}}
		for _, s := range subresources {
			rule.Resources = append(rule.Resources, r.Resource+"/"+s)
		}
		m.ResourceRules = append(m.ResourceRules, rule)
	}
	return m
}

// refuse refuses what the expression is not true of. message is an expression, too.
func refuse(unless, message string) admissionv1.Validation {
	forbidden := metav1.StatusReasonForbidden
	return admissionv1.Validation{Expression: unless, MessageExpression: message, Reason: &forbidden}
}

// quote makes a string of CEL.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(s) + "'"
}

// list makes a list of CEL.
func list(all []string) string {
	var quoted []string
	for _, s := range all {
		quoted = append(quoted, quote(s))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
