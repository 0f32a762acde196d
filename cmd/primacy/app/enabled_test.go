package app

import (
	"context"

	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// unlocked checks that the script's namespace has no Lease of the given name.
func (s *scripts) unlocked(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	client, err := coordinationclient.NewForConfig(s.cluster.Config)
	ts.Check(err)
	l, err := client.Leases(ts.Getenv("NS")).Get(context.Background(), args[0], metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		ts.Fatalf("there is a lock %s: %v, %v", args[0], l, err)
	}
}
