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
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/primacy-dev/primacy/internal/listwatch"
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
	source := listwatch.Source{List: r.List, Watch: r.Watch}
	source.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, r.Name).String() // as RBAC by resource name requires
	err := source.Once(ctx, listwatch.Listener{
		Listed: func(list runtime.Object) error { return r.listed(list, l) }, Watching: l.Readable,
		Changed: func(e watch.Event) error {
			if event(e, l) != nil {
				return errBroken
			}
			return nil
		},
	})
	if errors.Is(err, errBroken) {
		return nil
	}
	return err
}

// errBroken ends a stream: if the trouble persists, the next list reports it.
var errBroken = errors.New("broken stream")

// listed shows the object in the list of it.
func (r Object) listed(list runtime.Object, l Listener) error {
	var found runtime.Object
	if err := meta.EachListItem(list, func(o runtime.Object) error {
		named, err := meta.Accessor(o)
		if err == nil && named.GetName() == r.Name {
			found = o
		}
		return err
	}); err != nil {
		return err
	}
	return l.Shown(found)
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
