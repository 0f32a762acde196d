// Package object follows one object of a cluster by its name, for the sources that read one. It
// uses list and watch and no other verb.
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

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/revisions"
)

// Object is one object, and how to read it.
type Object struct {
	Name  string
	List  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	Watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// Place describes the object to people who grant permissions: "configmap a in namespace b".
	Place string
}

// Listener receives news of an object, on the goroutine that follows it.
type Listener interface {
	// Shown takes the object as it is now, nil if there is none. It returns an error for an object of
	// another type.
	Shown(runtime.Object) error
	// Unreadable takes why the object cannot be read. kind is the same for errors of the same reason.
	Unreadable(kind string, err error)
	// Readable is called when the object can be read, from when on we follow it.
	Readable()
}

// Reader reads the preferred revision from an object.
type Reader struct {
	Object
	// Value returns what the object says; empty if no revision is preferred. It returns an error
	// for an object of another type.
	Value func(runtime.Object) (string, error)
}

// Follow tells the keeper what the object says until ctx ends. A missing object means that no
// revision is preferred.
func (r Reader) Follow(ctx context.Context, keeper *revisions.Keeper) {
	r.Object.Follow(ctx, listener{keeper, r.Value})
}

// listener passes news of an object to a keeper.
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

const (
	// listTimeout is how long one list may take.
	listTimeout = 10 * time.Second
	// openTimeout is how long the server may take to answer a watch. It answers at once, even if nothing changes.
	openTimeout = 30 * time.Second
)

const (
	// We ask the server to end a watch after a random time between watchSeconds and twice that, so that
	// many watches don't start again at the same moment.
	watchSeconds = 300
	// overtime is how much longer than that a watch may last. A server or a proxy that does not end it may have lost it, and
	// with it what changed since.
	overtime = 30 * time.Second
)

// Follow passes news of the object to the listener until ctx ends.
func (r Object) Follow(ctx context.Context, l Listener) {
	revisions.Retry(ctx, func(ctx context.Context) {
		if err := r.follow(ctx, l); err != nil && ctx.Err() == nil {
			l.Unreadable(string(apierrors.ReasonForError(err)), r.hinted(err))
		}
	})
}

// follow shows the object, and then every change until the stream ends. It returns an error if
// the list or the watch was refused; a broken stream is no error.
func (r Object) follow(ctx context.Context, l Listener) error {
	version, err := r.list(ctx, l)
	if err != nil {
		return err
	}
	lasts := watchSeconds + rand.Int64N(watchSeconds)
	stream, err := r.open(ctx, metav1.ListOptions{ResourceVersion: version, TimeoutSeconds: &lasts})
	if err != nil {
		return err
	}
	defer func() { // when this returns, client-go's goroutine has ended
		stream.Stop()
		for range stream.ResultChan() {
		}
	}()
	l.Readable()
	over := clock.NewTimer(time.Duration(lasts)*time.Second + overtime)
	defer over.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-over.C:
			return nil // the next list shows what we may have missed
		case e, open := <-stream.ResultChan():
			if !open {
				return nil
			}
			if err := event(e, l); err != nil {
				return nil // if the trouble persists, the next list reports it
			}
		}
	}
}

// open opens a watch, which lasts until ctx ends. It gives up if the server does not answer.
func (r Object) open(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	late := clock.AfterFunc(openTimeout, func() { giveUp(errNoAnswer) })
	stream, err := r.Watch(ctx, r.only(o))
	late.Stop()
	if err == nil {
		return closing{stream, giveUp}, nil
	}
	if errors.Is(context.Cause(ctx), errNoAnswer) {
		err = errNoAnswer
	}
	giveUp(nil)
	return nil, err
}

var errNoAnswer = fmt.Errorf("no answer to a watch within %v (is the API server, or a proxy before it, overloaded?)", openTimeout)

// closing is a stream whose Stop ends the stream's context, too.
type closing struct {
	watch.Interface
	end context.CancelCauseFunc
}

// Stop implements watch.Interface.
func (c closing) Stop() { c.Interface.Stop(); c.end(nil) }

// list makes a consistent read. It returns the version from which to watch.
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

// only narrows a request to the one object, as RBAC by resource name requires.
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

// hinted adds what to do about the error, if we know it.
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
