package revisions_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
	"github.com/primacy-dev/primacy/pkg/revisions/file"
	"github.com/primacy-dev/primacy/pkg/revisions/static"
	"github.com/primacy-dev/primacy/pkg/revisions/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func registry() *revisions.Registry {
	r := revisions.NewRegistry()
	r.Register("static", static.Kind())
	r.Register("configMap", configmap.Kind(nil))
	r.Register("file", file.Kind())
	r.Register("webhook", webhook.Kind(nil))
	return r
}

func node(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Content[0]
}

func TestDecode(t *testing.T) {
	for _, tt := range []struct{ kind, block, want string }{
		{"static", `{revision: "1-9-0"}`, ""},
		{"configMap", `{name: primacy-revisions, key: default}`, ""},
		{"static", `{}`, "1:1: revision: is missing"},
		{"static", `{revision: 1.10}`, "1:12: revision: 1.10 is a number, want text"},
		{"static", `{revision: ""}`, "1:12: revision: the revision is empty (leave defaultRevision out if none is preferred)"},
		{"static", `{revision: "a b"}`, `1:12: revision: "a b" is no revision`},
		{"static", `{revision: ` + strings.Repeat("a", 64) + `}`, "has 64 characters"},
		{"configMap", `{name: a}`, "1:1: key: is missing"},
		{"configMap", `{name: A_B, key: "a/b"}`, "1:8: name: no ConfigMap can have it"},
		{"configMap", `{name: A_B, key: "a/b"}`, "1:18: key: no ConfigMap can have it"},
		{"configMap", `{name: a, key: b, ns: c}`, "1:19: ns: unknown field"},
		{"configmap", `{}`, "1:1: is not a known kind of revision source (did you mean configMap?)"},
		{"lease", `{}`, "(the kinds are: configMap, file, static, webhook)"},
		{"file", `{path: /etc/primacy/revision}`, ""},
		{"file", `{}`, "1:1: path: is missing"},
		{"file", `{path: revision}`, "1:8: path: is no absolute path of a file (write it from the root, such as /etc/primacy/revision)"},
		{"file", `{path: /etc/}`, "1:8: path: is no absolute path of a file"},
		{"file", `{path: /}`, "1:8: path: is no absolute path of a file"},
		{"file", `{path: ""}`, "1:8: path: is no absolute path of a file"},
		{"file", `{path: /a, line: 2}`, "1:12: line: unknown field"},
		{"webhook", `{}`, ""},
		{"webhook", `{name: istio-revision-tag-prod, label: example.org/rev}`, ""},
		{"webhook", `{name: A_B, label: "a b"}`, "1:8: name: no MutatingWebhookConfiguration can have it"},
		{"webhook", `{name: A_B, label: "a b"}`, "1:20: label: no label can have it"},
		{"webhook", `{label: ""}`, "1:9: label: no label can have it"},
		{"webhook", `{revision: a}`, "1:2: revision: unknown field"},
	} {
		_, err := registry().Decode(tt.kind, node(t, tt.block), revisions.Env{})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s %s: %v", tt.kind, tt.block, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s %s: got %v, want %q", tt.kind, tt.block, err, tt.want)
		}
	}
}

func TestRegisterRefuses(t *testing.T) {
	r := registry()
	for name, register := range map[string]func(){
		"no name":    func() { r.Register("", static.Kind()) },
		"no decoder": func() { r.Register("new", nil) },
		"twice":      func() { r.Register("static", static.Kind()) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			register()
		}()
	}
}

// watching collects the digests of the preferences that a source delivers.
type watching struct {
	got    []string
	cancel context.CancelFunc
	done   chan error
}

func watch(t *testing.T, source election.Preferences) *watching {
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{cancel: cancel, done: make(chan error, 1)}
	go func() { w.done <- source.Watch(ctx, func(p election.Preference) { w.got = append(w.got, p.Digest()) }) }()
	t.Cleanup(func() { cancel() })
	return w
}

func TestSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := revisions.NewSwitch(static.Revision("a"))
		w := watch(t, s)
		synctest.Wait()
		s.Use(silent{}) // says nothing, so a stays
		synctest.Wait()
		s.Use(static.Revision("b"))
		synctest.Wait()
		s.Use(nil)
		synctest.Wait()
		s.Use(static.Revision("passing")) // it may be seen, or not
		s.Use(static.Revision("c"))
		synctest.Wait()
		w.cancel()
		if err := <-w.done; err != nil {
			t.Error(err)
		}
		if got := strings.Join(w.got, " "); got != "a b (unset) c" && got != "a b (unset) passing c" {
			t.Errorf("delivered %s", got)
		}
	})
}

func TestSwitchGivesUpWithItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, revisions.NewSwitch(broken{}))
		if err := <-w.done; !errors.Is(err, errBroken) {
			t.Errorf("Watch returned %v", err)
		}
	})
}

type silent struct{}

func (silent) Watch(ctx context.Context, _ func(election.Preference)) error {
	<-ctx.Done()
	return nil
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Watch(context.Context, func(election.Preference)) error { return errBroken }
