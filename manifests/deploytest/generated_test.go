package deploytest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated manifests anew")

// generate prints what `primacy generate` says of a configuration.
func generate(t *testing.T, what, file string) string {
	t.Helper()
	return run(t, program(t), "generate", what, "-f", file)
}

// monitored are values with a configuration of one's own, as docs/deploy.md has them.
func monitored(t *testing.T) map[string]any {
	t.Helper()
	const file = "testdata/monitored.yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{
		"configuration": string(text), "rights": generate(t, "rbac", file), "alerts": generate(t, "alerts", file),
		"tls":        map[string]any{"secret": "primacy-tls"},
		"monitoring": map[string]any{"enabled": true, "labels": map[string]any{"release": "prometheus"}},
	}
}

// TestGenerated compares the files that others write with what they would write now: the chart's rights and alerts come from
// `primacy generate`, and the texts of the kustomizations from the chart. -update writes them.
func TestGenerated(t *testing.T) {
	want := map[string]string{}
	want["chart/files/rights.yaml"] = generate(t, "rbac", "../chart/files/primacy.yaml")
	want["chart/files/alerts.yaml"] = generate(t, "alerts", "../chart/files/primacy.yaml")
	compare(t, want) // before the chart, which has them, is rendered
	clear(want)
	rendered, err := release{namespace: "edge-system"}.files()
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"configuration.yaml": "base", "rights.yaml": "base", "flowschema.yaml": "base", "preferred.yaml": "begin", "deployments.yaml": "revision",
	} {
		text := rendered["primacy/templates/"+name]
		if to == "revision" { // overlays add the revision
			text = strings.ReplaceAll(text, "name: primacy-1-9-0", "name: primacy")
			text = strings.ReplaceAll(text, `, primacy.dev/revision: "1-9-0"`, "")
		}
		want[filepath.Join("kustomize", to, name)] = text
	}
	want["deployment.yaml"] = oneFile + rendered["primacy/templates/configuration.yaml"] + "\n---\n" + rendered["primacy/templates/preferred.yaml"] +
		rendered["primacy/templates/deployments.yaml"]
	rendered, err = release{namespace: "edge-system", values: monitored(t)}.files()
	if err != nil {
		t.Fatal(err)
	}
	want["kustomize/monitoring/monitoring.yaml"] = rendered["primacy/templates/monitoring.yaml"]
	compare(t, want)
}

// oneFile is the head of the manifest for people who have neither tool.
const oneFile = `# Three members of one revision. Apply rbac.yaml first. For a second revision, add a second
# Deployment with another name, image and label primacy.dev/revision. Before you apply the file again,
# take the ConfigMap primacy-revisions out: it would set the default revision back, and so move leadership.

`

func compare(t *testing.T, want map[string]string) {
	t.Helper()
	for name, text := range want {
		file := filepath.Join("..", name)
		text = strings.TrimPrefix(strings.TrimSpace(text), "---\n") + "\n"
		is, err := os.ReadFile(file)
		if err == nil && string(is) == text {
			continue
		}
		if !*update {
			t.Errorf("manifests/%s is not what it would be now (make -C manifests/deploytest update writes it): %v", name, err)
			continue
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
