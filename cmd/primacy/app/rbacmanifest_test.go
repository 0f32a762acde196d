package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// rightsHead begins manifests/rbac.yaml.
const rightsHead = `# The rights of members with the configuration in deployment.yaml, in a namespace of their own, and two roles for people, which
# you bind yourself. ` + "`primacy generate rbac -f primacy.yaml --operator SUBJECT`" + ` prints those of another configuration, and binds
# them. This file is made from its output: go test ./cmd/primacy/app -run TestRightsManifest -update
apiVersion: v1
kind: Namespace
metadata:
  name: edge-system
---
`

// TestRightsManifest compares manifests/rbac.yaml with what `primacy generate rbac` prints for the configuration in
// manifests/deployment.yaml. -update writes it anew.
func TestRightsManifest(t *testing.T) {
	manifests := filepath.Join("..", "..", "..", "manifests")
	deployment, err := os.ReadFile(filepath.Join(manifests, "deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := decodeManifest(deployment)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "primacy.yaml")
	for _, o := range objects {
		if cm, ok := o.(*corev1.ConfigMap); ok && cm.Data["primacy.yaml"] != "" {
			if err := os.WriteFile(config, []byte(cm.Data["primacy.yaml"]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	root := newRoot("primacy", add(nil))
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs([]string{"generate", "rbac", "-f", config, "--namespace", "edge-system", "--operator", "group:people", "--viewer", "group:people"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	var kept []string
	for doc := range strings.SplitSeq(out.String(), "---\n") {
		if !strings.Contains(doc, "name: people\n") { // whoever applies the file binds these roles
			kept = append(kept, doc)
		}
	}
	want, file := rightsHead+strings.Join(kept, "---\n"), filepath.Join(manifests, "rbac.yaml")
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	is, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(is) != want {
		t.Errorf("%s is not what primacy generate rbac would print now (-update writes it anew):\n%s", file, want)
	}
}
