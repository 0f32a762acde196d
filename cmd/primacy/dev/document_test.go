package dev

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/config"
)

func open(t *testing.T, text string) *document {
	t.Helper()
	path := filepath.Join(t.TempDir(), "primacy.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := openDocument(path, nil, func(*config.Configuration) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const head = "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\nelections: [{name: one, lock: {name: lock-one}, priority: {policy: none}}]\n"

func TestPlan(t *testing.T) {
	for _, tt := range []struct {
		name, text     string
		stable, canary string
		key            string // empty: the default revision cannot be switched
	}{
		{"nothing said", "member: {revision: stable}\n", "stable", "canary", ""},
		{"a revision", "member: {revision: \"1-9-0\"}\n", "1-9-0", "canary", ""},
		{"a ConfigMap", "member: {revision: stable}\ndefaultRevision: {configMap: {name: revisions, key: edge}}\n", "stable", "canary", "revisions/edge"},
		{"static", "member: {revision: canary}\ndefaultRevision: {static: {revision: \"1-9-0\"}}\n", "1-9-0", "canary", ""},
		{"canary itself", "member: {revision: canary}\n", "canary", "next", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := open(t, head+tt.text).plan()
			if err != nil {
				t.Fatal(err)
			}
			key := ""
			if p.key != nil {
				key = p.key.Name + "/" + p.key.Key
			}
			if p.stable != tt.stable || p.canary != tt.canary || key != tt.key {
				t.Errorf("got %s, %s and key %q", p.stable, p.canary, key)
			}
			if p.other(p.stable) != p.canary || p.other(p.canary) != p.stable || p.other("third") != p.stable {
				t.Error("switching does not go there and back")
			}
		})
	}
}

func TestDocument(t *testing.T) {
	d := open(t, head+"member: {revision: stable}\n")
	if e := d.expected(); len(e) != 1 || e[0].Election != "one" || e[0].Lock != "lock-one" {
		t.Errorf("expected %v", e)
	}
	if p := d.policies()["one"]; p == nil || p.String() != "none" {
		t.Errorf("policy %v", p)
	}
	_, err := openDocument("/does/not/exist.yaml", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "/does/not/exist.yaml") {
		t.Errorf("a missing file: %v", err)
	}
}

// TestExample checks that the example has what its comments promise.
func TestExample(t *testing.T) {
	dir := &folder{path: t.TempDir()}
	d, err := openDocument("", dir, func(*config.Configuration) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.plan()
	if err != nil || p.key == nil || p.stable != "stable" {
		t.Errorf("plan %+v: %v", p, err)
	}
	programs, idle := 0, 0
	for _, e := range d.Elections {
		if e.Bootstrap != config.BootstrapImmediate {
			t.Errorf("%s does not begin at once", e.Name)
		}
		if len(e.Runners) == 0 {
			idle++
		}
		for _, r := range e.Runners {
			if r.Kind == "exec" {
				programs++
			}
		}
	}
	if len(d.Elections) < 6 || programs < 6 || idle != 1 {
		t.Errorf("%d elections, %d programs, %d elections without work", len(d.Elections), programs, idle)
	}
	if d.path != dir.file(exampleName) {
		t.Errorf("members are given %s", d.path)
	}
}

// TestEndpointsOfOneMember checks that a fixed port for endpoints is refused: members on one machine cannot
// all serve them at the same port.
func TestEndpointsOfOneMember(t *testing.T) {
	for port, want := range map[string]string{"0": "", "9090": ":5:17: http.address: 127.0.0.1:9090 is for one member, and all of them run on this machine (write 127.0.0.1:0, for any free port)"} {
		path := filepath.Join(t.TempDir(), "primacy.yaml")
		if err := os.WriteFile(path, []byte(head+"http: {address: '127.0.0.1:"+port+"'}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := openDocument(path, nil, func(*config.Configuration) error { return nil })
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != path+want) {
			t.Errorf("port %s: %v", port, err)
		}
	}
}
