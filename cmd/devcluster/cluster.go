package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

const (
	startTimeout = 2 * time.Minute // generous: a cold disk is slow
	stopTimeout  = time.Second     // for each of the two servers
)

// cluster is etcd, and a kube-apiserver that uses it.
type cluster struct {
	logs *logging
	etcd *embed.Etcd
	api  *apiServer

	url        string
	kubeconfig string // path of the administrator's kubeconfig
	version    string
}

// startCluster returns once the cluster is ready and its kubeconfig is written.
// On an error, it has stopped everything that it started.
func startCluster(ctx context.Context, o options, dir *dataDir, logs *logging) (_ *cluster, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready after %s", startTimeout))
	defer cancel()

	pki := dir.file("pki")
	if err := ensurePKI(pki); err != nil {
		return nil, err
	}
	audit, err := auditFlags(o.auditLog, dir.file("audit-policy.yaml"))
	if err != nil {
		return nil, err
	}
	ln, err := listen(o.port, dir.file("port"))
	if err != nil {
		return nil, err
	}
	c := &cluster{logs: logs, url: fmt.Sprintf("https://%s", ln.Addr())}
	defer func() {
		if err == nil {
			return
		}
		if c.api == nil {
			_ = ln.Close() // otherwise the API server owns it, and would panic
		}
		c.stop()
	}()
	if c.etcd, err = startEtcd(ctx, dir.file("etcd"), o, logs.etcd); err != nil {
		return nil, err
	}
	if c.api, err = startAPIServer(ctx, ln, pki, audit); err != nil {
		return nil, err
	}
	admin, err := adminKubeconfig(c.url, pki)
	if err != nil {
		return nil, err
	}
	if err = c.awaitReady(ctx, admin); err != nil {
		return nil, err
	}
	if err = c.publish(dir, o.kubeconfig, admin); err != nil {
		return nil, err
	}
	return c, nil
}

// awaitReady waits until the cluster is ready, or until one of the servers ends.
func (c *cluster) awaitReady(ctx context.Context, admin *api.Config) error {
	cfg, err := clientcmd.NewDefaultClientConfig(*admin, nil).ClientConfig()
	if err != nil {
		return err
	}
	cfg.QPS = -1 // no limit
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := c.wait(ctx); err != nil {
			cancel(err)
		}
	}()
	c.version, err = awaitReady(ctx, cfg)
	cancel(nil)
	<-ended
	return err
}

// publish writes the kubeconfig to the data folder and, if path is set, to path.
func (c *cluster) publish(dir *dataDir, path string, admin *api.Config) error {
	content, err := clientcmd.Write(*admin)
	if err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	c.kubeconfig = dir.file("admin.kubeconfig")
	if err := writeFile(c.kubeconfig, content); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	if path == "" {
		return nil
	}
	c.kubeconfig = path
	if err := dir.publish(path, content); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

// wait returns nil when ctx ends, and an error when a server ends by itself.
func (c *cluster) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.api.done:
		return fmt.Errorf("kube-apiserver ended by itself: %v", c.api.err)
	case err := <-c.etcd.Err():
		return fmt.Errorf("etcd ended by itself: %v", err)
	case <-c.etcd.Server.StopNotify():
		return errors.New("etcd ended by itself")
	}
}

// stop stops what has been started, the API server first.
func (c *cluster) stop() {
	c.logs.ending.Store(true)
	if c.api != nil {
		c.api.stop(stopTimeout)
	}
	if c.etcd != nil {
		stopEtcd(c.etcd, stopTimeout)
	}
}
