package main

import (
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/primacy-dev/primacy/pkg/election"
)

type (
	object  = runtime.Object
	watcher = watch.Interface
	queue   = workqueue.TypedRateLimitingInterface[string]
)

type controller struct {
	configMaps coreclient.ConfigMapInterface
	informer   cache.SharedIndexInformer
	queue      atomic.Pointer[queue] // of the term; nil without one
}

// changed puts an object that the informer shows into the term's queue. Without a term, the object
// only stays in the cache.
func (c *controller) changed(o any) {
	q := c.queue.Load()
	if key, err := cache.MetaNamespaceKeyFunc(o); err == nil && q != nil {
		(*q).Add(key)
	}
}

// lead is the work of one term: when it returns, none of that work goes on.
func (c *controller) lead(ctx context.Context, term election.Term) error {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	defer context.AfterFunc(ctx, q.ShutDown)()
	c.queue.Store(&q)
	defer c.queue.Store(nil)
	known := c.informer.GetStore().ListKeys()
	fmt.Printf("leading: term %d, %d objects known\n", term.Token, len(known))
	defer fmt.Printf("over: term %d\n", term.Token)
	for _, key := range known {
		q.Add(key)
	}
	for {
		key, down := q.Get()
		if down || ctx.Err() != nil {
			return nil
		}
		if err := c.greet(ctx, key); err != nil && ctx.Err() == nil {
			fmt.Printf("%s: %v\n", key, err)
			q.AddRateLimited(key)
		} else {
			q.Forget(key)
		}
		q.Done(key)
	}
}

// greet writes a missing greeting. The gate stamps it with the token of the term.
func (c *controller) greet(ctx context.Context, key string) error {
	o, found, err := c.informer.GetStore().GetByKey(key)
	if err != nil || !found {
		return err
	}
	configMap := o.(*corev1.ConfigMap).DeepCopy()
	greeting := "hello " + configMap.Data["name"]
	if configMap.Data["greeting"] == greeting {
		return nil
	}
	if configMap.Data == nil {
		configMap.Data = map[string]string{}
	}
	configMap.Data["greeting"] = greeting
	_, err = c.configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
	return err
}
