package app

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/primacy-dev/primacy/config"
)

// TestAParentLooksWhereItsMemberWas checks that the parent of a dead member finds the member's cluster although somebody has
// made another context the current one, and that it says so if that context is gone.
func TestAParentLooksWhereItsMemberWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	write := func(t *testing.T, current string, contexts ...string) {
		t.Helper()
		c := api.NewConfig()
		for _, name := range contexts {
			c.Clusters[name] = &api.Cluster{Server: "https://" + name + ".example:6443"}
			c.Contexts[name] = &api.Context{Cluster: name}
		}
		c.CurrentContext = current
		if err := clientcmd.WriteToFile(*c, path); err != nil {
			t.Fatal(err)
		}
	}
	for what, p := range map[string]*config.Process{"--kubeconfig": {Kubeconfig: path}, "KUBECONFIG": {}} {
		t.Run(what, func(t *testing.T) {
			t.Setenv("KUBECONFIG", path)
			if p.Kubeconfig != "" {
				t.Setenv("KUBECONFIG", "")
			}
			write(t, "ours", "ours", "other")
			began, err := findCluster(p.Kubeconfig)
			if err != nil {
				t.Fatal(err)
			}
			notes := notesOf(p, began)
			note := func(name string) string { return notes[name] }
			write(t, "other", "ours", "other")
			if c, err := clusterNoted(note); err != nil || c.config.Host != began.config.Host {
				t.Errorf("got %+v and %v, want the server %s", c, err, began.config.Host)
			}
			write(t, "other", "other")
			if c, err := clusterNoted(note); err == nil || !strings.Contains(err.Error(), `"ours" does not exist`) {
				t.Errorf("got %+v and %v, want that the context is gone", c, err)
			}
		})
	}
}
