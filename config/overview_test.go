package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/primacy-dev/primacy/config"
)

// TestOverview compares the tables with files of testdata; -update rewrites the files.
func TestOverview(t *testing.T) {
	head := "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\nmember: {revision: a}\n"
	for name, doc := range map[string]string{
		"none":    "elections: []\n",
		"session": "elections:\n- name: ingress-status\n- name: certificates\n",
		"mixed": `timing: {profile: fast}
elections:
- name: plain
- name: in-a-configmap
  lock: {kind: ConfigMap}
- name: ranged
  range: true
- name: open
  outage: failopen
- name: wide-open
  outage: failopen
  failopenFor: unbounded
- name: shared
  lock: {sharedWith: client-go}
  timing: {profile: default}
- name: moved
  lock: {migrateFrom: {kind: ConfigMap}}
`,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := config.Parse(name, []byte(head+doc))
			if err != nil {
				t.Fatal(err)
			}
			got := c.Overview(3)
			file := filepath.Join("testdata", "overview", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs (-update writes it anew):\n%s", file, got)
			}
		})
	}
}
