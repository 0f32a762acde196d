package devcluster_test

import (
	"context"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

// TestRestart checks that a restarted server has the same address, credentials and objects.
func TestRestart(t *testing.T) {
	cluster := devcluster.New(t)
	namespace := cluster.Namespace(t)
	cluster.Restart(t)
	core, err := coreclient.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := core.Namespaces().Get(context.Background(), namespace, metav1.GetOptions{}); err != nil {
		t.Errorf("namespace after a restart: %v", err)
	}
	if other := cluster.Namespace(t); other == namespace {
		t.Errorf("two namespaces have the name %s", other)
	}
}

// TestMissingBinary checks that without a binary a test fails, and the failure says what to do.
func TestMissingBinary(t *testing.T) {
	t.Setenv(devcluster.Binary, "/does/not/exist")
	failed := make(chan string, 1)
	go func() {
		defer close(failed)
		devcluster.New(&fatalTB{TB: t, said: failed})
	}()
	if said := <-failed; !strings.Contains(said, "make bin/devcluster") {
		t.Errorf("said %q, which does not tell what to do", said)
	}
	if _, err := os.Stat("/does/not/exist"); err == nil {
		t.Fatal("the path exists")
	}
}
