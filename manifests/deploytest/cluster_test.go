package deploytest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

// longest is how long a test waits for anything.
const longest = 60 * time.Second

// cluster is an API server with what the tests do to it.
type cluster struct {
	*devcluster.Cluster
	t       *testing.T
	http    *http.Client
	objects dynamic.Interface
	typed   kubernetes.Interface
}

func start(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{Cluster: devcluster.New(t), t: t}
	var err error
	if c.http, err = rest.HTTPClientFor(c.Config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.http.CloseIdleConnections)
	if c.objects, err = dynamic.NewForConfigAndClient(c.Config, c.http); err != nil {
		t.Fatal(err)
	}
	if c.typed, err = kubernetes.NewForConfigAndClient(c.Config, c.http); err != nil {
		t.Fatal(err)
	}
	return c
}

// restricted creates a namespace that takes only Pods of the profile restricted.
func (c *cluster) restricted(name string) string {
	c.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	if _, err := c.typed.CoreV1().Namespaces().Create(c.t.Context(), ns, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	return name
}

// mapper knows the kinds that the server has now.
func (c *cluster) mapper() meta.RESTMapper {
	c.t.Helper()
	client, err := discovery.NewDiscoveryClientForConfigAndClient(c.Config, c.http)
	if err != nil {
		c.t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		c.t.Fatal(err)
	}
	return restmapper.NewDiscoveryRESTMapper(groups)
}

// apply sends the objects in their order, each once, with strict validation.
func (c *cluster) apply(all []*unstructured.Unstructured) {
	c.t.Helper()
	mapper := c.mapper()
	for _, o := range all {
		if err := c.applyOne(mapper, o); err != nil {
			c.t.Fatalf("%s: %v", called(o), err)
		}
	}
}

func (c *cluster) applyOne(mapper meta.RESTMapper, o *unstructured.Unstructured) error {
	kind := o.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	body, err := json.Marshal(o)
	if err != nil {
		return err
	}
	var client dynamic.ResourceInterface = c.objects.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		client = c.objects.Resource(mapping.Resource).Namespace(o.GetNamespace())
	}
	force := true
	_, err = client.Patch(c.t.Context(), o.GetName(), types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: "deploytest", Force: &force, FieldValidation: metav1.FieldValidationStrict})
	return err
}

// pod creates a Pod from the template of a Deployment, changed by change.
func (c *cluster) pod(deployment *unstructured.Unstructured, name string, change func(*corev1.Pod)) error {
	c.t.Helper()
	text, err := json.Marshal(deployment.Object["spec"].(map[string]any)["template"])
	if err != nil {
		return err
	}
	var p corev1.Pod
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	p.Name, p.Namespace = name, deployment.GetNamespace()
	change(&p)
	_, err = c.typed.CoreV1().Pods(p.Namespace).Create(c.t.Context(), &p, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	return err
}

// accepts checks that the profile takes a Pod of each Deployment, and that it refuses one that may gain privileges.
func (c *cluster) accepts(all []*unstructured.Unstructured) {
	c.t.Helper()
	for _, d := range of("Deployment", all) {
		if err := c.pod(d, d.GetName()+"-x", func(p *corev1.Pod) {
			for _, container := range p.Spec.Containers {
				if s := container.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
					c.t.Errorf("%s: container %s may write to its root", called(d), container.Name)
				}
			}
		}); err != nil {
			c.t.Errorf("a Pod of %s: %v", called(d), err)
		}
		err := c.pod(d, d.GetName()+"-y", func(p *corev1.Pod) { p.Spec.Containers[0].SecurityContext = nil })
		if !apierrors.IsForbidden(err) {
			c.t.Errorf("a Pod of %s without its security context: got %v, want it refused", called(d), err)
		}
	}
}

// token returns a kubeconfig for a service account, and its configuration.
func (c *cluster) token(namespace, account string) (string, *rest.Config) {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "kubeconfig")
	run(c.t, os.Getenv(devcluster.Binary), "mint", "--kubeconfig", c.Kubeconfig, "--namespace", namespace, "--serviceaccount", account, "--out", file)
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		c.t.Fatal(err)
	}
	return file, config
}

// program is the path of primacy.
func program(t *testing.T) string {
	t.Helper()
	return needed(t, "PRIMACY_PROGRAM", "make test-deploy builds it")
}

func needed(t *testing.T, variable, hint string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("%s is not set (%s)", variable, hint)
	}
	return path
}

// run returns what a program prints.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		said := ""
		if exit, ok := err.(*exec.ExitError); ok {
			said = string(exit.Stderr)
		}
		t.Fatal(fmt.Errorf("%s %v: %w\n%s%s", name, args, err, out, said))
	}
	return string(out)
}
