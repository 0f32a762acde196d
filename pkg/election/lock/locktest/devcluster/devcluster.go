// Package devcluster gives tests a real API server: the binary of cmd/devcluster, started
// once for all tests of a package.
//
//	func TestMain(m *testing.M) { devcluster.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		cluster := devcluster.Start(t)
//		namespace := cluster.Namespace(t)
//		...
//	}
//
// The binary is $PRIMACY_DEVCLUSTER, or bin/devcluster in the module. Without one the test fails: what
// was not tested must not look as if it passed.
package devcluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is a running API server. Its methods are safe for concurrent use.
type Cluster struct {
	// Config is the administrator's, without a client-side rate limit. Copy it before you change it.
	Config *rest.Config
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig string

	dir  string
	http *http.Client
	core *coreclient.CoreV1Client

	mu      sync.Mutex
	process *process // nil while the server is down
}

var shared struct {
	sync.Mutex
	cluster *Cluster
	err     error
}

// Start returns the server that all tests of the process share. The first call starts it.
func Start(t testing.TB) *Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil && shared.err == nil {
		shared.cluster, shared.err = newCluster()
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// New starts a server for one test, which may take it down. It ends with the test.
func New(t testing.TB) *Cluster {
	t.Helper()
	c, err := newCluster()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Main runs the tests of a package, stops the shared server and, if the tests passed, looks for leaked
// goroutines. It ends the process.
func Main(m *testing.M, leaks ...goleak.Option) {
	code := m.Run()
	if err := closeShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if code == 0 {
		if err := goleak.Find(leaks...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func closeShared() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		return nil
	}
	return shared.cluster.close()
}

func newCluster() (*Cluster, error) {
	dir, err := os.MkdirTemp("", "primacy-devcluster-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, Kubeconfig: filepath.Join(dir, "kubeconfig")}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *Cluster) open() error {
	if err := c.up(); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	c.Config = config
	if c.http, err = rest.HTTPClientFor(config); err != nil {
		return err
	}
	c.core, err = coreclient.NewForConfigAndClient(config, c.http)
	return err
}

func (c *Cluster) close() error {
	if c.http != nil {
		utilnet.CloseIdleConnectionsFor(c.http.Transport)
	}
	return errors.Join(c.down(), os.RemoveAll(c.dir))
}

// Down stops the server and keeps what it stores.
func (c *Cluster) Down(t testing.TB) {
	t.Helper()
	if err := c.down(); err != nil {
		t.Fatal(err)
	}
}

// Up starts the server again, at the same address, and returns when it is ready.
func (c *Cluster) Up(t testing.TB) {
	t.Helper()
	if err := c.up(); err != nil {
		t.Fatal(err)
	}
}

// Restart is Down and Up.
func (c *Cluster) Restart(t testing.TB) {
	t.Helper()
	c.Down(t)
	c.Up(t)
}

func (c *Cluster) down() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return nil
	}
	p := c.process
	c.process = nil
	return p.stop()
}

func (c *Cluster) up() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil {
		return errors.New("devcluster is up already")
	}
	p, err := start(filepath.Join(c.dir, "data"), c.Kubeconfig)
	if err != nil {
		return err
	}
	c.process = p
	return nil
}

var namespaces atomic.Int64

// Namespace creates a namespace for the test. It stays, since there is no controller that could remove
// it.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("%s-%d", dashed(t.Name()), namespaces.Add(1))
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.core.Namespaces().Create(context.Background(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create namespace %s: %v", name, err)
	}
	return name
}

// dashed makes a valid name for a namespace, with room for a number.
func dashed(s string) string {
	s = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(s))
	return strings.Trim(s[:min(len(s), 50)], "-")
}
