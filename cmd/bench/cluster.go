package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// namespace is the namespace of members that run the whole program; preferences is the ConfigMap from
// which they read the preferred revision.
const (
	namespace   = "bench"
	preferences = "primacy-revisions"
)

// cluster is the API server of a run.
type cluster struct {
	process    *exec.Cmd
	stdin      io.Closer
	kubeconfig string
	config     *rest.Config
	core       *coreclient.CoreV1Client
	// references counts the objects and namespaces made to measure the API server alone.
	references int
}

// startCluster returns once the API server is ready and has the namespace.
func startCluster(ctx context.Context, o options, dir string) (*cluster, error) {
	c := &cluster{kubeconfig: filepath.Join(dir, "kubeconfig")}
	c.process = exec.Command(o.devcluster, "--kubeconfig", c.kubeconfig, fmt.Sprintf("--fsync=%v", o.fsync))
	c.process.Stderr = os.Stderr
	stdin, err := c.process.StdinPipe() // the pipe closes when we end, and so the server ends
	if err != nil {
		return nil, fmt.Errorf("devcluster: %w", err)
	}
	c.stdin = stdin
	stdout, err := c.process.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("devcluster: %w", err)
	}
	if err := c.process.Start(); err != nil {
		return nil, fmt.Errorf("devcluster: %w (make build builds it)", err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("devcluster did not become ready: %w", err), c.close())
	}
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig); err != nil {
		return nil, errors.Join(fmt.Errorf("kubeconfig: %w", err), c.close())
	}
	c.config.QPS = -1
	if c.core, err = coreclient.NewForConfig(c.config); err != nil {
		return nil, errors.Join(fmt.Errorf("client: %w", err), c.close())
	}
	if err := c.makeNamespace(ctx, namespace); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *cluster) makeNamespace(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.core.Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	return nil
}

func (c *cluster) close() error {
	_ = c.stdin.Close() // an error does not matter: the server sees the end of input either way
	_ = c.process.Process.Signal(syscall.SIGTERM)
	return c.process.Wait()
}

// store makes a store for the locks of the namespace, with a client of its own.
func (c *cluster) store(namespace string) (lock.Store, error) {
	client, err := lease.NewClient(c.config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return lease.In(client, namespace), nil
}

// prefer writes the preferred revision to the ConfigMap that members read.
func (c *cluster) prefer(ctx context.Context, namespace, revision string) error {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: preferences}, Data: map[string]string{"default": revision}}
	maps := c.core.ConfigMaps(namespace)
	_, err := maps.Update(ctx, m, metav1.UpdateOptions{})
	if err != nil {
		_, err = maps.Create(ctx, m, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("preferred revision: %w", err)
	}
	return nil
}

// physical measures the API server alone: a bare update, and an update until
// another client's watch shows it, each after the server has been idle for the time idle. Each call makes
// a new object.
func (c *cluster) physical(ctx context.Context, n int, idle time.Duration) (update, event sample, err error) {
	c.references++
	name := fmt.Sprintf("reference-%d", c.references)
	writer, err := c.store(namespace)
	if err != nil {
		return nil, nil, err
	}
	watcher, err := c.store(namespace)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	seen := make(chan time.Time, n)
	ready := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- watcher.Watch(ctx, func(e lock.Event) {
			switch {
			case e.Kind == lock.Resumed:
				ready <- struct{}{}
			case e.Kind == lock.Changed && e.Entry.Name == name:
				seen <- time.Now()
			}
		})
	}()
	defer func() {
		cancel()
		err = errors.Join(err, <-ended)
	}()
	<-ready
	r := record.Record{Holder: "bench", Duration: 15 * time.Second}
	version, err := writer.Put(ctx, name, r, record.Version{})
	if err != nil {
		return nil, nil, fmt.Errorf("reference: %w", err)
	}
	<-seen
	for i := range n {
		entry, err := writer.Get(ctx, name)
		if err != nil {
			return nil, nil, fmt.Errorf("reference: %w", err)
		}
		if err := pause(ctx, idle); err != nil {
			return nil, nil, err
		}
		r := *entry.Record
		r.Transitions = i + 1
		sent := time.Now()
		if version, err = writer.Put(ctx, name, r, version); err != nil {
			return nil, nil, fmt.Errorf("reference: %w", err)
		}
		update = append(update, time.Since(sent))
		event = append(event, (<-seen).Sub(sent))
	}
	return update, event, nil
}
