package main

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	devcluster.Main(m)
}

// TestExample runs two members, and leaves the work to the second one.
func TestExample(t *testing.T) {
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	admin, err := client.New(cluster.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("crds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range bytes.Split(text, []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(doc, &o.Object); err != nil {
			t.Fatal(err)
		}
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	// until tries for as long as the API server may take to serve the new kinds, and the members to work.
	until := func(what string, try func() bool) {
		t.Helper()
		for range 600 {
			if try() {
				return
			}
			<-clock.NewTimer(100 * time.Millisecond).C
		}
		t.Fatal(what)
	}
	made := func(kind, name string, spec map[string]any) {
		t.Helper()
		until("cannot create a "+kind, func() bool {
			o := object(kind)
			o.SetName(name)
			o.SetNamespace(namespace)
			o.Object["spec"] = spec
			return admin.Create(t.Context(), o) == nil
		})
	}
	member := func(name string) (stop func()) {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- run(ctx, cluster.Kubeconfig, namespace, name) }()
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	worked := func(name, text string, parts int64) {
		t.Helper()
		until("no work on "+name, func() bool {
			m, gadget := object("Widget"), object("Gadget")
			m.SetAPIVersion("v1")
			m.SetKind("ConfigMap")
			key := client.ObjectKey{Namespace: namespace, Name: name}
			if admin.Get(t.Context(), key, m) != nil || admin.Get(t.Context(), key, gadget) != nil {
				return false
			}
			got, _, _ := unstructured.NestedString(m.Object, "data", "text")
			n, _, _ := unstructured.NestedInt64(gadget.Object, "status", "parts")
			return got == text && n == parts
		})
	}
	made("Widget", "one", map[string]any{"text": "hello"})
	made("Gadget", "one", map[string]any{"parts": []any{"x", "y"}})
	leave := member("a")
	worked("one", "hello", 2)
	defer member("b")()
	leave()
	made("Widget", "two", map[string]any{"text": "world"})
	made("Gadget", "two", map[string]any{"parts": []any{"x"}})
	worked("two", "world", 1)
}
