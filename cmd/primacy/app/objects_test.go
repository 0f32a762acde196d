package app

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// apply creates the objects of manifests, with strict validation. $NS in them is the script's
// namespace.
func (s *scripts) apply(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	for _, file := range args {
		text := os.Expand(ts.ReadFile(file), func(name string) string { return ts.Getenv(name) })
		objects, err := decodeManifest([]byte(text))
		ts.Check(err)
		for _, o := range objects {
			ts.Check(s.create(o))
		}
	}
}

func decodeManifest(text []byte) ([]runtime.Object, error) {
	strictly := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var objects []runtime.Object
	for _, doc := range bytes.Split(text, []byte("\n---\n")) {
		o, _, err := strictly.Decode(doc, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("manifest: %w:\n%s", err, doc)
		}
		objects = append(objects, o)
	}
	return objects, nil
}

func (s *scripts) create(o runtime.Object) error {
	ctx, once := context.Background(), metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	core, err := coreclient.NewForConfig(s.cluster.Config)
	if err != nil {
		return err
	}
	rbac, err := rbacclient.NewForConfig(s.cluster.Config)
	if err != nil {
		return err
	}
	apps, err := appsclient.NewForConfig(s.cluster.Config)
	if err != nil {
		return err
	}
	policy, err := policyclient.NewForConfig(s.cluster.Config)
	if err != nil {
		return err
	}
	admission, err := admissionclient.NewForConfig(s.cluster.Config)
	if err != nil {
		return err
	}
	coordination, err := coordinationclient.NewForConfig(s.cluster.Config)
	if err != nil {
		return err
	}
	switch o := o.(type) {
	case *coordinationv1.Lease:
		_, err = coordination.Leases(o.Namespace).Create(ctx, o, once)
	case *policyv1.PodDisruptionBudget:
		_, err = policy.PodDisruptionBudgets(o.Namespace).Create(ctx, o, once)
	case *admissionv1.ValidatingAdmissionPolicy:
		_, err = admission.ValidatingAdmissionPolicies().Create(ctx, o, once)
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		_, err = admission.ValidatingAdmissionPolicyBindings().Create(ctx, o, once)
	case *corev1.Namespace:
		_, err = core.Namespaces().Create(ctx, o, once)
	case *corev1.ServiceAccount:
		_, err = core.ServiceAccounts(o.Namespace).Create(ctx, o, once)
	case *corev1.ConfigMap:
		_, err = core.ConfigMaps(o.Namespace).Create(ctx, o, once)
	case *rbacv1.Role:
		_, err = rbac.Roles(o.Namespace).Create(ctx, o, once)
	case *rbacv1.RoleBinding:
		_, err = rbac.RoleBindings(o.Namespace).Create(ctx, o, once)
	case *rbacv1.ClusterRole:
		_, err = rbac.ClusterRoles().Create(ctx, o, once)
	case *rbacv1.ClusterRoleBinding:
		_, err = rbac.ClusterRoleBindings().Create(ctx, o, once)
	case *appsv1.Deployment:
		_, err = apps.Deployments(o.Namespace).Create(ctx, o, once)
	default:
		return fmt.Errorf("a manifest has a %T, which this test cannot create", o)
	}
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// revision writes one key of a ConfigMap, and creates the ConfigMap if it is missing.
func (s *scripts) revision(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3)
	core, err := coreclient.NewForConfig(s.cluster.Config)
	ts.Check(err)
	client := core.ConfigMaps(ts.Getenv("NS"))
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: args[0]}, Data: map[string]string{args[1]: args[2]}}
	_, err = client.Create(context.Background(), cm, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = client.Update(context.Background(), cm, metav1.UpdateOptions{})
	}
	ts.Check(err)
}

// kubeconfig writes the administrator's kubeconfig, changed:
//
//	closed     the server's port is closed
//	untrusted  the certificate authority is another cluster's
//	token      the credentials are an unknown token
//	contextless  there is no current context
func (s *scripts) kubeconfig(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	c, err := clientcmd.LoadFromFile(s.cluster.Kubeconfig)
	ts.Check(err)
	for _, cluster := range c.Clusters {
		switch args[0] {
		case "closed":
			cluster.Server = "https://127.0.0.1:1"
		case "untrusted":
			other := httptest.NewTLSServer(nil)
			cluster.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Certificate().Raw})
			other.Close()
		}
	}
	switch args[0] {
	case "token":
		for name := range c.AuthInfos {
			c.AuthInfos[name] = &api.AuthInfo{Token: "nobody-gave-this-out"}
		}
	case "contextless":
		c.CurrentContext = ""
	}
	text, err := clientcmd.Write(*c)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), text, 0o600))
}

// configuration takes the configuration out of the ConfigMap of a manifest.
func configuration(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	objects, err := decodeManifest([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	for _, o := range objects {
		if cm, ok := o.(*corev1.ConfigMap); ok && cm.Data["primacy.yaml"] != "" {
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(cm.Data["primacy.yaml"]), 0o600))
			return
		}
	}
	ts.Fatalf("%s has no ConfigMap with a primacy.yaml", args[0])
}
