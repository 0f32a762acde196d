package deploytest

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// canary are the values of the overlay canary.
var canary = map[string]any{"revisions": []any{
	map[string]any{"name": "1-9-0", "image": "primacy:dev", "replicas": 3},
	map[string]any{"name": "2-0-0", "image": "primacy:2-0-0", "replicas": 1},
}}

// TestChart installs the chart in an empty namespace, runs a member with what the cluster then has, and upgrades.
func TestChart(t *testing.T) {
	t.Parallel()
	c := start(t)
	r := release{namespace: c.restricted("installed"), cluster: c.Config}
	all := r.objects(t)
	c.apply(all)
	c.accepts(all)
	c.flows(r.namespace)
	c.member(r.namespace, all)

	stored, err := c.typed.CoreV1().ConfigMaps(r.namespace).Get(t.Context(), "primacy-revisions", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored.Data["default"] = "2-0-0"
	if _, err := c.typed.CoreV1().ConfigMaps(r.namespace).Update(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.values = canary
	all = r.objects(t)
	c.apply(all)
	c.accepts(of("Deployment", all)[1:])
	stored, err = c.typed.CoreV1().ConfigMaps(r.namespace).Get(t.Context(), "primacy-revisions", metav1.GetOptions{})
	if err != nil || stored.Data["default"] != "2-0-0" {
		t.Errorf("after an upgrade revision %v is preferred, want the chosen one: %v", stored.Data, err)
	}
}

// TestKustomize applies the overlays, and compares each with the chart.
func TestKustomize(t *testing.T) {
	for overlay, values := range map[string]map[string]any{"one-revision": nil, "canary": canary} {
		t.Run(overlay, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			begin, all := kustomized(t, "../kustomize/begin"), kustomized(t, "../kustomize/overlays/"+overlay)
			c.apply(begin)
			c.apply(all)
			c.accepts(all)
			alike(t, "chart", release{namespace: "edge-system", values: values}.objects(t), "kustomize",
				append(all, slices.DeleteFunc(begin, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" })...))
		})
	}
}

// TestKustomizeTLS checks that members with the component tls are those of the chart with tls.secret.
func TestKustomizeTLS(t *testing.T) {
	dir, err := os.MkdirTemp("..", "overlay-") // kustomize refuses folders by absolute paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	write(t, filepath.Join(dir, "kustomization.yaml"), map[string]any{
		"resources": []string{"../kustomize/overlays/one-revision"}, "components": []string{"../kustomize/tls"},
	})
	alike(t, "chart", of("Deployment", release{namespace: "edge-system", values: monitored(t)}.objects(t)), "kustomize", of("Deployment", kustomized(t, dir)))
}

// alike compares two sets of objects.
func alike(t *testing.T, oneName string, one []*unstructured.Unstructured, otherName string, other []*unstructured.Unstructured) {
	t.Helper()
	byName := map[string]*unstructured.Unstructured{}
	for _, o := range other {
		byName[called(o)] = o
	}
	for _, o := range one {
		twin := byName[called(o)]
		delete(byName, called(o))
		if twin == nil {
			t.Errorf("%s has %s, %s has not", oneName, called(o), otherName)
		} else if !reflect.DeepEqual(o.Object, twin.Object) {
			t.Errorf("%s differs: %s has\n%v\n%s has\n%v", called(o), oneName, o.Object, otherName, twin.Object)
		}
	}
	for name := range byName {
		t.Errorf("%s has %s, %s has not", otherName, name, oneName)
	}
}

// flows checks that a member's requests for Leases go by its FlowSchema, and others do not.
func (c *cluster) flows(namespace string) {
	c.t.Helper()
	schema, err := c.typed.FlowcontrolV1().FlowSchemas().Get(c.t.Context(), "primacy-"+namespace, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	_, config := c.token(namespace, "primacy")
	var went string
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if err == nil {
				went = answer.Header.Get("X-Kubernetes-PF-FlowSchema-UID")
			}
			return answer, err
		})
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		c.t.Fatal(err)
	}
	defer closeIdle(c.t, config)
	// The API server takes up a new FlowSchema by its watch.
	for deadline := time.Now().Add(longest); went != string(schema.UID); {
		if _, err := client.CoordinationV1().Leases(namespace).List(c.t.Context(), metav1.ListOptions{}); err != nil || time.Now().After(deadline) {
			c.t.Fatalf("requests for Leases go by the FlowSchema %s, want %s: %v", went, schema.UID, err)
		}
	}
	_, _ = client.CoreV1().ConfigMaps(namespace).List(c.t.Context(), metav1.ListOptions{})
	if went == string(schema.UID) {
		c.t.Error("requests for ConfigMaps go by the FlowSchema of Leases")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func closeIdle(t *testing.T, config *rest.Config) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	client.CloseIdleConnections()
}

// member runs one with the installed configuration and rights, until it leads all elections.
func (c *cluster) member(namespace string, all []*unstructured.Unstructured) {
	c.t.Helper()
	text, _, _ := unstructured.NestedString(of("ConfigMap", all)[0].Object, "data", "primacy.yaml")
	file := filepath.Join(c.t.TempDir(), "primacy.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(text, ":8080", "127.0.0.1:0", 1)), 0o600); err != nil {
		c.t.Fatal(err)
	}
	kubeconfig, _ := c.token(namespace, "primacy")
	p := exec.CommandContext(c.t.Context(), program(c.t), "run", "--config", file, "--kubeconfig", kubeconfig, "--name", "a", "--revision", "1-9-0")
	out, err := p.StderrPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		c.t.Fatal(err)
	}
	timer := time.AfterFunc(longest, func() { _ = p.Process.Kill() })
	defer timer.Stop()
	wanted := map[string]bool{"ingress-status": true, "certificates": true, "rollout-edge": true}
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), `"msg":"leading"`) {
			for name := range wanted {
				if strings.Contains(lines.Text(), `"election":"`+name+`"`) {
					delete(wanted, name)
				}
			}
		}
		if len(wanted) == 0 {
			_ = p.Process.Signal(syscall.SIGTERM)
		}
	}
	if err := p.Wait(); err != nil || len(wanted) > 0 || strings.Contains(said.String(), "forbidden") || strings.Contains(said.String(), "could not") {
		c.t.Errorf("a member with these rights: %v, not led: %v\n%s", err, wanted, said.String())
	}
}

// TestMonitoring applies the objects of the Prometheus operator to its own CRDs.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	c := start(t)
	dir := strings.TrimSpace(run(t, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/prometheus-operator/prometheus-operator"))
	var crds []*unstructured.Unstructured
	for _, kind := range []string{"servicemonitors", "prometheusrules"} {
		text, err := os.ReadFile(filepath.Join(dir, "example/prometheus-operator-crd/monitoring.coreos.com_"+kind+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		crds = append(crds, decode(t, text)...)
	}
	c.apply(crds)
	for _, crd := range crds {
		c.established(crd.GetName())
	}
	c.apply(kustomized(t, "../kustomize/begin"))
	all := release{namespace: "edge-system", values: monitored(t)}.objects(t)
	c.apply(all)
	c.accepts(all)
	c.apply(kustomized(t, "../kustomize/monitoring"))

	// The CRDs bite.
	wrong := of("ServiceMonitor", all)[0].DeepCopy()
	wrong.Object["spec"].(map[string]any)["endpoints"].([]any)[0].(map[string]any)["scheme"] = "ftp"
	if err := c.applyOne(c.mapper(), wrong); err == nil {
		t.Error("a ServiceMonitor with an unknown scheme was taken")
	}
	wrong = of("PrometheusRule", all)[0].DeepCopy()
	wrong.Object["spec"].(map[string]any)["groups"].([]any)[0].(map[string]any)["rules"].([]any)[0].(map[string]any)["for"] = "soon"
	if err := c.applyOne(c.mapper(), wrong); err == nil {
		t.Error("a PrometheusRule with a wrong duration was taken")
	}
}

// established waits until the server serves a CRD.
func (c *cluster) established(name string) {
	c.t.Helper()
	crds := c.objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	w, err := crds.Watch(c.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name, TimeoutSeconds: new(int64(longest.Seconds()))})
	if err != nil {
		c.t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		o, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range conditions {
			if c := c.(map[string]any); c["type"] == "Established" && c["status"] == "True" {
				return
			}
		}
	}
	c.t.Fatalf("%s is not served", name)
}

// TestMistakes checks that the chart refuses values with which members could not work, and says what helps.
func TestMistakes(t *testing.T) {
	for want, values := range map[string]map[string]any{
		"rights: a configuration of your own":     {"configuration": "http: {address: ':8080'}"},
		"kubelets cannot reach the probes":        {"configuration": "http: {address: '127.0.0.1:8080'}", "rights": "none"},
		"members serve metrics to other machines": {"monitoring": map[string]any{"enabled": true}},
		"additional properties 'revision' not":    {"revision": "1-9-0"},
		"at '/revisions/0/name'":                  {"revisions": []any{map[string]any{"name": "1.9.0", "image": "primacy:dev", "replicas": 1}}},
		"missing property 'image'":                {"revisions": []any{map[string]any{"name": "1-9-0", "replicas": 1}}},
	} {
		if _, err := (release{namespace: "x", values: values}).files(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", values, err, want)
		}
	}
}
