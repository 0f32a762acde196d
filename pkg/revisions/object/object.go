// Package object is what sources share that read one object of a cluster: it follows the
// object by its name, with list and watch and no other verb.
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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/primacy-dev/primacy/pkg/revisions"
)

// Object is one object, and how to read it.
type Object struct {
	Name  string
	List  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	Watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// Place is what it is, for people who grant permissions: "configmap a in namespace b".
	Place string
}

// Listener is told what there is to know of an object, on the goroutine that follows it.
type Listener interface {
	// Shown is the object as it is now, nil if there is none. An object of another type is
	// an error.
	Shown(runtime.Object) error
	// Unreadable is why the object cannot be read. The kind tells reasons apart.
	Unreadable(kind string, err error)
	// Readable: it is followed from here on.
	Readable()
}

// Reader reads the preferred revision off an object.
type Reader struct {
	Object
	// Value is what the object says; empty if no revision is preferred. An object of
	// another type is an error.
	Value func(runtime.Object) (string, error)
}

// Follow tells the keeper what the object says until ctx ends. That there is no object
// says that no revision is preferred.
func (r Reader) Follow(ctx context.Context, keeper *revisions.Keeper) {
	r.Object.Follow(ctx, listener{keeper, r.Value})
}

// listener tells a keeper.
type listener struct {
	*revisions.Keeper
	value func(runtime.Object) (string, error)
}

func (l listener) Shown(o runtime.Object) error {
	value := ""
	if o != nil {
		var err error
		if value, err = l.value(o); err != nil {
			return err
		}
	}
	l.Says(value)
	return nil
}

// listTimeout is how long one list may take.
const listTimeout = 10 * time.Second

// A watch is asked to end after a random time from here to twice that, so that many do
// not come back at the same moment.
const watchSeconds = 300

// Follow tells the listener of the object until ctx ends.
func (r Object) Follow(ctx context.Context, l Listener) {
	revisions.Retry(ctx, func(ctx context.Context) {
		if err := r.follow(ctx, l); err != nil && ctx.Err() == nil {
			l.Unreadable(string(apierrors.ReasonForError(err)), r.hinted(err))
		}
	})
}

// follow shows what is there, and then every change until the stream ends. The error is
// why it could not be asked for; that a stream breaks is nothing to speak of.
func (r Object) follow(ctx context.Context, l Listener) error {
	version, err := r.list(ctx, l)
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
	l.Readable()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-stream.ResultChan():
			if !open {
				return nil
			}
			if err := event(e, l); err != nil {
				return nil // the next list tells what is wrong, if anything still is
			}
		}
	}
}

// list is a consistent read. It returns the version from which to watch.
func (r Object) list(ctx context.Context, l Listener) (string, error) {
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
	var found runtime.Object
	if err := meta.EachListItem(list, func(o runtime.Object) error {
		named, err := meta.Accessor(o)
		if err == nil && named.GetName() == r.Name {
			found = o
		}
		return err
	}); err != nil {
		return "", err
	}
	if err := l.Shown(found); err != nil {
		return "", err
	}
	return about.GetResourceVersion(), nil
}

// only narrows a request to the one object, as RBAC by name wants it.
func (r Object) only(o metav1.ListOptions) metav1.ListOptions {
	o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, r.Name).String()
	return o
}

func event(e watch.Event, l Listener) error {
	switch e.Type {
	case watch.Error:
		return apierrors.FromObject(e.Object)
	case watch.Deleted:
		return l.Shown(nil)
	case watch.Added, watch.Modified:
		return l.Shown(e.Object)
	}
	return nil
}

// hinted says what to do about it where that is known.
func (r Object) hinted(err error) error {
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
