package leaderelection_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// schedulers builds kube-scheduler of the release that has this module's client-go, once as it is and once with the import of the elector
// changed in each of its files that has it. The tree is a copy of the module, outside the repository.
func schedulers(t *testing.T) (original, changed string) {
	t.Helper()
	build, tree, version := foreignTree(t)
	original = build("original")
	var edited []string
	err := filepath.WalkDir(filepath.Join(tree, schedulerProgram), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		if before := readText(t, name); strings.Contains(before, `"`+theirs) {
			edited = append(edited, filepath.Base(name))
			return os.WriteFile(name, []byte(strings.Replace(before, `"`+theirs, `"`+ours, 1)), 0o600)
		}
		return nil
	})
	if err != nil || edited == nil {
		t.Fatalf("change the import in %q: %v", edited, err)
	}
	t.Logf("kube-scheduler %s, the import is changed in %s", version, strings.Join(edited, ", "))
	return original, build("changed")
}

// schedulerProgram is where kube-scheduler is in its module.
const schedulerProgram = "cmd/kube-scheduler"

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// foreignTree copies the module of kube-scheduler out of the repository. build builds the copy as it then is, under a name.
func foreignTree(t *testing.T) (build func(name string) string, tree, version string) {
	t.Helper()
	const module = "k8s.io/kubernetes"
	root, dir := moduleDir(t, "github.com/primacy-dev/primacy"), t.TempDir()
	staged := goCommand(t, root, "list", "-m", "-f", "{{.Version}}", "k8s.io/client-go")
	version = "v1" + strings.TrimPrefix(staged, "v0")
	var got struct{ Dir string }
	if err := json.Unmarshal([]byte(goCommand(t, root, "mod", "download", "-json", module+"@"+version)), &got); err != nil {
		t.Fatal(err)
	}
	tree = filepath.Join(dir, "kubernetes")
	if err := os.CopyFS(tree, os.DirFS(got.Dir)); err != nil {
		t.Fatal(err)
	}

	mod := fmt.Sprintf("module trial\n\ngo 1.26.0\n\nrequire (\n\t%s %s\n\tgithub.com/primacy-dev/primacy v0.0.0\n)\n\n"+
		"replace (\n\t%s => ../kubernetes\n\tgithub.com/primacy-dev/primacy => %s\n", module, version, module, root)
	for _, m := range regexp.MustCompile(`(?m)^\t(k8s\.io/\S+) => \./staging/`).FindAllStringSubmatch(readText(t, filepath.Join(tree, "go.mod")), -1) {
		mod += fmt.Sprintf("\t%s => %s %s\n", m[1], m[1], staged)
	}
	at := filepath.Join(dir, "trial")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": mod + ")\n", "go.sum": readText(t, filepath.Join(tree, "go.sum")) + readText(t, filepath.Join(root, "go.sum"))} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return func(name string) string {
		out := filepath.Join(dir, name)
		goCommand(t, at, "build", "-p", "2", "-trimpath", "-ldflags", "-s -w", "-o", out, module+"/"+schedulerProgram)
		return out
	}, tree, version
}
