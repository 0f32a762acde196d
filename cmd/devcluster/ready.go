package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// awaitReady returns the server's version once a client can work with it:
// /readyz is ok, namespace default exists, a Lease can be created and watched.
func awaitReady(ctx context.Context, cfg *rest.Config) (serverVersion string, err error) {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return "", err
	}
	if err := awaitReadyz(ctx, client); err != nil {
		return "", err
	}
	if err := awaitDefaultNamespace(ctx, client); err != nil {
		return "", fmt.Errorf("wait for namespace default: %w", err)
	}
	if err := tryLease(ctx, client); err != nil {
		return "", fmt.Errorf("try a lease: %w", err)
	}
	v, err := client.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return v.GitVersion, nil
}

// awaitReadyz polls /readyz: the server does not announce readiness.
func awaitReadyz(ctx context.Context, client kubernetes.Interface) error {
	var last string
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var status int
		body, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).StatusCode(&status).Raw()
		if status == http.StatusOK {
			return true, nil
		}
		if ctx.Err() == nil {
			last = fmt.Sprintf("%v %s", err, body)
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait for /readyz: %w; its last answer: %s", context.Cause(ctx), last)
	}
	return nil
}

func awaitDefaultNamespace(ctx context.Context, client kubernetes.Interface) error {
	w, err := client.CoreV1().Namespaces().Watch(ctx, named(metav1.NamespaceDefault))
	if err != nil {
		return err
	}
	return awaitAdded(ctx, w)
}

func tryLease(ctx context.Context, client kubernetes.Interface) (err error) {
	leases := client.CoordinationV1().Leases(metav1.NamespaceDefault)
	lease, err := leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{GenerateName: "devcluster-ready-"}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, leases.Delete(context.WithoutCancel(ctx), lease.Name, metav1.DeleteOptions{}))
	}()
	w, err := leases.Watch(ctx, named(lease.Name))
	if err != nil {
		return err
	}
	return awaitAdded(ctx, w)
}

func named(name string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()}
}

// awaitAdded waits for an object, then stops the watch. A watch without a resource
// version begins with the objects that exist.
func awaitAdded(ctx context.Context, w watch.Interface) error {
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e, ok := <-w.ResultChan():
			if !ok {
				return errors.New("the watch ended")
			}
			if e.Type == watch.Added {
				return nil
			}
		}
	}
}
