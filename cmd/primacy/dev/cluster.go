package dev

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
	"github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
)

// clusterPatience is how long devcluster may take to start, and to end.
const (
	clusterPatience = 2 * time.Minute
	clusterGrace    = 15 * time.Second
)

// cluster is the API server of a run. It ends when its standard input is closed, so it
// also ends when this process ends in whatever way.
type cluster struct {
	child      *child
	stdin      io.Closer
	errors     logFile // its standard error
	kubeconfig string
	url        string

	namespace string
	config    *rest.Config
	core      *coreclient.CoreV1Client

	leases     *lease.APIClient
	configMaps *configmap.APIClient
}

// findDevcluster is the path of the API server's binary.
func findDevcluster(path, program string) (string, error) {
	beside := path == ""
	if beside {
		path = filepath.Join(filepath.Dir(program), "devcluster")
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist) && beside:
		return "", fmt.Errorf("there is no API server: no devcluster beside %s (make build builds it, which takes minutes the first time; or give --devcluster PATH)", program)
	case err != nil:
		return "", fmt.Errorf("--devcluster: %w (make build builds bin/devcluster)", err)
	case info.IsDir() || info.Mode()&0o111 == 0:
		return "", fmt.Errorf("--devcluster: %s is no program (make build builds bin/devcluster)", path)
	}
	return filepath.Abs(path)
}

// startCluster starts an API server that keeps its state in the folder, and returns when
// it is ready. Nothing is synced to disk: the state ends with the run.
func startCluster(ctx context.Context, path string, dir *folder, gone func(*child)) (_ *cluster, err error) {
	c := &cluster{kubeconfig: dir.file("kubeconfig"), errors: logFile{path: dir.file("devcluster.err")}}
	cmd := exec.Command(path, "--data-dir", dir.file("devcluster"), "--kubeconfig", c.kubeconfig, "--fsync=false", "--exit-on-stdin-close=true")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("devcluster: %w", err)
	}
	c.stdin = stdin
	stderr, err := os.Create(c.errors.path)
	if err != nil {
		return nil, fmt.Errorf("devcluster: %w", err)
	}
	defer stderr.Close()
	stdout, theirs, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("devcluster: %w", err)
	}
	cmd.Stdout, cmd.Stderr = theirs, stderr
	c.child, err = start(cmd, gone)
	_ = theirs.Close() // the child has its own descriptor
	if err != nil {
		return nil, errors.Join(fmt.Errorf("devcluster: %w (make build builds it)", err), stdin.Close(), stdout.Close())
	}
	if c.url, err = ready(ctx, stdout); err != nil {
		return nil, errors.Join(c.failed(ctx, err), c.stop(nil))
	}
	return c, nil
}

// ready waits until the server prints that it is ready, and returns its address. The
// server prints nothing after that, so ready closes stdout.
func ready(ctx context.Context, stdout *os.File) (url string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, clusterPatience, fmt.Errorf("it is not ready after %v", clusterPatience))
	defer cancel()
	defer stdout.Close()
	stop := context.AfterFunc(ctx, func() { _ = stdout.SetReadDeadline(time.Now()) })
	defer stop()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if url, ok := strings.CutPrefix(line, "devcluster ready: "); ok && err == nil {
		url, _, _ = strings.Cut(url, " ")
		return url, nil
	}
	return "", errors.New("it did not become ready")
}

// failed adds the end of the server's standard error to the reason why there is no cluster.
func (c *cluster) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("devcluster: %w%s", err, indented(c.errors.tail()))
}

// connect makes the clients, and the namespace.
func (c *cluster) connect(ctx context.Context, connect Connect, namespace string) error {
	config, own, err := connect(c.kubeconfig)
	if err != nil {
		return err
	}
	c.config, c.namespace = config, namespace
	if c.namespace == "" {
		c.namespace = own
	}
	if c.core, err = apiserver.ClientFor(config, coreclient.NewForConfigAndClient); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if c.leases, err = lease.NewClient(config); err != nil {
		return err
	}
	if c.configMaps, err = configmap.NewClient(config); err != nil {
		return err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	if _, err := c.core.Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("namespace %s: %w", c.namespace, err)
	}
	return nil
}

// stop ends the server, at once when hurry is closed.
func (c *cluster) stop(hurry <-chan struct{}) error {
	_ = c.stdin.Close() // an error does not matter: the server sees the end of input either way
	c.child.signal(syscall.SIGTERM)
	grace := clock.NewTimer(clusterGrace)
	defer grace.Stop()
	select {
	case <-c.child.ended:
		return nil
	case <-hurry:
		c.child.signal(syscall.SIGKILL)
		<-c.child.ended
		return nil
	case <-grace.C:
		c.child.signal(syscall.SIGKILL)
		<-c.child.ended
		return fmt.Errorf("devcluster did not end within %v and was killed", clusterGrace)
	}
}
