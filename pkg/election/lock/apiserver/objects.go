package apiserver

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Object is one object of a kind.
type Object interface {
	runtime.Object
	metav1.Object
}

// List is a list of Objects.
type List interface {
	runtime.Object
	metav1.ListInterface
}

// Kind is a kind of API object, such as Lease.
type Kind[O Object] struct {
	// Name is the kind's name for people, such as lease, and Resource its name in requests, such as leases.
	Name, Resource string
	// PageSize is how many objects a list asks for at a time. All pages show the revision of the first.
	PageSize int
	// Missing is a question that errors ask, as a hint, if the server lacks the resource.
	Missing string
	New     func() O
	NewList func() List
}

// Objects are the objects of a kind in a namespace.
type Objects[O Object] struct {
	Kind[O]
	Client    Client
	Namespace string
	// Selector is the label selector of what Watch shows; empty for all.
	Selector string
	// Read decodes an object, and owns it from then on: nobody else may keep or change it.
	Read func(O) codec.Object

	decoder codec.Decoder
}

// Get implements lock.Store.Get: a GET without resourceVersion, which is consistent.
func (s *Objects[O]) Get(ctx context.Context, name string) (lock.Entry, error) {
	if err := codec.CheckName(name); err != nil {
		return lock.Entry{}, fmt.Errorf("%w: %w", lock.ErrInvalid, err)
	}
	o := s.New()
	err := s.request(s.Client.RESTClient().Get()).Name(name).Do(ctx).Into(o)
	if isAbsent(err, name) {
		return lock.Entry{Name: name}, nil
	}
	if err != nil {
		return lock.Entry{}, s.readError(err)
	}
	e, err := s.entry(o)
	if err != nil {
		return lock.Entry{}, wrap(lock.ErrUnknown, err)
	}
	return e, nil
}

// Put writes an object that carries the uid and revision of what it replaces: a POST to
// create, a PUT to update. It owns the object from then on. It returns lock.ErrAltered if the
// answer shows another record than was sent: admission may change what is stored, or keep the
// old record.
func (s *Objects[O]) Put(ctx context.Context, o O, replaces record.Version) (record.Version, error) {
	var req *rest.Request
	if replaces.UID == "" {
		req = s.request(s.Client.RESTClient().Post())
	} else {
		req = s.request(s.Client.RESTClient().Put()).Name(o.GetName())
	}
	written := s.New()
	if err := req.Body(o).Do(ctx).Into(written); err != nil {
		return record.Version{}, s.writeError(err, replaces)
	}
	v, err := Version(written)
	if err == nil && replaces.UID != "" && v.UID != replaces.UID {
		err = fmt.Errorf("%s was recreated by an update", o.GetName())
	}
	if err != nil {
		return record.Version{}, fmt.Errorf("%w: %s %w", lock.ErrUnknown, s.Name, err)
	}
	name := o.GetName()
	if changed := codec.Difference(s.Read(o), s.Read(written)); changed != "" {
		return record.Version{}, fmt.Errorf("%w: %s %s: %s (look for a mutating admission policy or webhook on %s in namespace %s, and exempt them)",
			lock.ErrAltered, s.Name, name, changed, s.Resource, s.Namespace)
	}
	return v, nil
}

// Remove implements lock.Remover.Remove: a DELETE with the uid and the revision as preconditions.
func (s *Objects[O]) Remove(ctx context.Context, name string, is record.Version) error {
	if err := CheckWrite(name, is); err != nil {
		return err
	}
	if is.UID == "" {
		return fmt.Errorf("%w: a removal needs the version that it removes", lock.ErrInvalid)
	}
	uid, revision := types.UID(is.UID), strconv.FormatUint(is.Revision, 10)
	only := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &revision}}
	err := s.request(s.Client.RESTClient().Delete()).Name(name).Body(only).Do(ctx).Error()
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: %w (needed on %s in namespace %s: delete)", lock.ErrDenied, err, s.Resource, s.Namespace)
	}
	return s.writeError(err, is)
}

// CheckWrite says why a record must not be written under the name in place of the version replaces; nil
// if it may.
func CheckWrite(name string, replaces record.Version) error {
	if err := codec.CheckName(name); err != nil {
		return fmt.Errorf("%w: %w", lock.ErrInvalid, err)
	}
	if replaces.UID != "" && replaces.Revision == 0 {
		return fmt.Errorf("%w: an update needs the revision that it replaces", lock.ErrInvalid)
	}
	return nil
}

// request makes client-go send the request only once.
func (s *Objects[O]) request(r *rest.Request) *rest.Request {
	return r.Namespace(s.Namespace).Resource(s.Resource).MaxRetries(0)
}

func (s *Objects[O]) entry(o O) (lock.Entry, error) {
	v, err := Version(o)
	if err != nil {
		return lock.Entry{}, fmt.Errorf("%s %w", s.Name, err)
	}
	return lock.Entry{Name: o.GetName(), Record: s.decoder.Decode(s.Read(o)), Version: v}, nil
}

// Version returns the version of an object; the error begins with its name.
func Version(o metav1.Object) (record.Version, error) {
	at, err := revision(o.GetResourceVersion())
	if err == nil && o.GetUID() == "" {
		err = errors.New("has no uid")
	}
	if err != nil {
		return record.Version{}, fmt.Errorf("%s: %w", o.GetName(), err)
	}
	return record.Version{UID: string(o.GetUID()), Revision: at}, nil
}

// revision reads a resourceVersion; servers that conform to KEP-5504 number them.
func revision(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("resourceVersion %q is no number", s)
	}
	return n, nil
}
