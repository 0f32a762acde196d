package app

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// owners writes down who owns each Lease of the script's namespace.
func (s *scripts) owners(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	client, err := coordinationclient.NewForConfig(s.cluster.Config)
	ts.Check(err)
	list, err := client.Leases(ts.Getenv("NS")).List(context.Background(), metav1.ListOptions{})
	ts.Check(err)
	text := ""
	for _, l := range list.Items {
		owner := "nobody"
		for _, o := range l.OwnerReferences {
			owner = fmt.Sprintf("%s/%s/%s", o.Kind, o.Name, o.UID)
		}
		text += l.Name + " " + owner + "\n"
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// TestOwnedByPod checks that a Pod owns sessions only in its own namespace, and only if the environment has
// its name, namespace and UID.
func TestOwnedByPod(t *testing.T) {
	for _, tt := range []struct {
		name  string
		env   map[string]string
		owned int
		says  int
	}{
		{name: "no Pod", env: map[string]string{"POD_NAME": "edge-0"}},
		{name: "a Pod", env: map[string]string{"POD_NAME": "edge-0", "POD_UID": "u1", "POD_NAMESPACE": "edge-system"}, owned: 1},
		{name: "without its namespace", env: map[string]string{"POD_NAME": "edge-0", "POD_UID": "u1"}, says: 1},
		{name: "without its name", env: map[string]string{"POD_UID": "u1", "POD_NAMESPACE": "edge-system"}, says: 1},
		{name: "in another namespace", env: map[string]string{"POD_NAME": "edge-0", "POD_UID": "u1", "POD_NAMESPACE": "apps"}, says: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			core, said := observer.New(zap.DebugLevel)
			got := ownedByPod("edge-system", "m", func(name string) string { return tt.env[name] }, zap.New(core))
			if len(got) != tt.owned || said.Len() != tt.says {
				t.Errorf("%d owners, and said %v", len(got), said.All())
			}
		})
	}
}
