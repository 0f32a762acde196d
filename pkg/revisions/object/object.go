// Package object is what sources share that read the preferred revision off one object of
// a cluster: it follows the object by its name, with list and watch and no other verb.
//
// Goroutines: client-go reads the stream on one of its own, which has ended when Follow
// returns.
package object

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/primacy-dev/primacy/pkg/revisions"
)

// Reader says how to read the object.
type Reader struct {
	Name  string
	List  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	Watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// Value is what the object says; empty if no revision is preferred. An object of
	// another type is an error.
	Value func(runtime.Object) (string, error)
	// Place is what it is, for people who grant permissions: "configmap a in namespace b".
	Place string
}

// listTimeout is how long one list may take.
const listTimeout = 10 * time.Second

// A watch is asked to end after a random time from here to twice that, so that many do
// not come back at the same moment.
const watchSeconds = 300

// Follow tells the keeper what the object says until ctx ends. That there is no object
// says that no revision is preferred.
func (r Reader) Follow(ctx context.Context, keeper *revisions.Keeper) {
	revisions.Retry(ctx, func(ctx context.Context) {
		if err := r.follow(ctx, keeper); err != nil && ctx.Err() == nil {
			keeper.Unreadable(string(apierrors.ReasonForError(err)), r.hinted(err))
		}
	})
}

// follow shows what is there, and then every change until the stream ends. The error is
// why it could not be asked for; that a stream breaks is nothing to speak of.
func (r Reader) follow(ctx context.Context, keeper *revisions.Keeper) error {
	version, err := r.list(ctx, keeper)
	if err != nil {
		return err
	}
	stream, err := r.Watch(ctx, r.only(metav1.ListOptions{
		ResourceVersion: version,
		TimeoutSeconds:  new(watchSeconds + rand.Int64N(watchSeconds)),
	}))
	if err != nil {
		return err
	}
	defer func() { // when this returns client-go's goroutine is gone
		stream.Stop()
		for range stream.ResultChan() {
		}
	}()
	keeper.Readable()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-stream.ResultChan():
			if !open {
				return nil
			}
			if err := r.event(event, keeper); err != nil {
				keeper.Log.Debug("watch broken", zap.Error(err))
				return nil
			}
		}
	}
}

// list is a consistent read. It returns the version from which to watch.
func (r Reader) list(ctx context.Context, keeper *revisions.Keeper) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := r.List(ctx, r.only(metav1.ListOptions{}))
	if err != nil {
		return "", err
	}
	about, err := meta.ListAccessor(list)
	if err != nil {
		return "", err
	}
	value := ""
	if err := meta.EachListItem(list, func(o runtime.Object) error {
		named, err := meta.Accessor(o)
		if err == nil && named.GetName() == r.Name {
			value, err = r.Value(o)
		}
		return err
	}); err != nil {
		return "", err
	}
	keeper.Says(value)
	return about.GetResourceVersion(), nil
}

// only narrows a request to the one object, as RBAC by name wants it.
func (r Reader) only(o metav1.ListOptions) metav1.ListOptions {
	o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, r.Name).String()
	return o
}

func (r Reader) event(e watch.Event, keeper *revisions.Keeper) error {
	switch e.Type {
	case watch.Error:
		return apierrors.FromObject(e.Object)
	case watch.Deleted:
		keeper.Says("")
	case watch.Added, watch.Modified:
		value, err := r.Value(e.Object)
		if err != nil {
			return err
		}
		keeper.Says(value)
	}
	return nil
}

// hinted says what to do about it where that is known.
func (r Reader) hinted(err error) error {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		return err
	}
	switch api.Status().Code {
	case http.StatusForbidden:
		return fmt.Errorf("%w (needed on %s: list, watch)", err, r.Place)
	case http.StatusUnauthorized:
		return fmt.Errorf("%w (are the credentials valid, and for this cluster?)", err)
	}
	return err
}
