package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const apiVersion = "example.primacy.dev/v1"

// object is an object of one of our kinds.
func object(kind string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	return o
}

func text() *corev1.ConfigMap { return &corev1.ConfigMap{} }

// widgets writes the text of each Widget into a ConfigMap of its name.
type widgets struct{ client.Client }

func (w widgets) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	widget := object("Widget")
	if err := w.Get(ctx, r.NamespacedName, widget); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	content, _, err := unstructured.NestedString(widget.Object, "spec", "text")
	if err != nil {
		return reconcile.Result{}, err
	}
	m := text()
	m.Name, m.Namespace = r.Name, r.Namespace
	_, err = controllerutil.CreateOrUpdate(ctx, w, m, func() error {
		m.Data = map[string]string{"text": content}
		return controllerutil.SetControllerReference(widget, m, w.Scheme())
	})
	return reconcile.Result{}, err
}

// gadgets writes how many parts a Gadget has into its status.
type gadgets struct{ client.Client }

func (g gadgets) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	gadget := object("Gadget")
	if err := g.Get(ctx, r.NamespacedName, gadget); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	parts, _, err := unstructured.NestedSlice(gadget.Object, "spec", "parts")
	if err != nil {
		return reconcile.Result{}, err
	}
	before := gadget.DeepCopy()
	if err := unstructured.SetNestedField(gadget.Object, int64(len(parts)), "status", "parts"); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, g.Status().Patch(ctx, gadget, client.MergeFrom(before))
}
