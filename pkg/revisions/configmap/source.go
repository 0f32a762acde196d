package configmap

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions"
)

// Key is one entry of one ConfigMap.
type Key struct {
	Namespace, Name, Key string
}

// New makes the source that reads the key. A nil log means that nothing is logged.
func New(client coreclient.ConfigMapsGetter, key Key, log *zap.Logger) election.Preferences {
	env := revisions.Env{Log: log}.Defaults()
	return &source{client: client, key: key, log: env.Log.With(
		zap.String("configMap", key.Namespace+"/"+key.Name), zap.String("key", key.Key))}
}

type source struct {
	client coreclient.ConfigMapsGetter
	key    Key
	log    *zap.Logger
}

// Pace of retries, and how long one list may take.
const (
	firstWait   = 250 * time.Millisecond
	mostWait    = 10 * time.Second
	settled     = 5 * time.Second
	listTimeout = 10 * time.Second
)

// A watch is asked to end after a random time from here to twice that, so that many do
// not come back at the same moment.
const watchSeconds = 300

// Watch implements election.Preferences. It never gives up.
func (s *source) Watch(ctx context.Context, deliver func(record.Preferred)) error {
	f := &follower{source: s, deliver: deliver}
	wait := firstWait
	for {
		began := time.Now()
		err := f.follow(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) >= settled {
			wait = firstWait
		}
		if err != nil {
			f.unreadable(err)
		}
		if !pause(ctx, wait/2+rand.N(wait/2)) {
			return nil
		}
		wait = min(2*wait, mostWait)
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// follower belongs to the goroutine that watches.
type follower struct {
	*source
	deliver func(record.Preferred)
	// last is what was delivered last; zero before that.
	last record.Preferred
	// silence is why nothing can be read, as it was logged; empty while all is well.
	silence string
	// refused is the value that was logged as no revision; empty while it is one.
	refused string
}

// follow shows what is there, and then every change until the stream ends. The error is
// why it could not be asked for; that a stream breaks is nothing to speak of.
func (f *follower) follow(ctx context.Context) error {
	list, err := f.list(ctx)
	if err != nil {
		return err
	}
	var found *corev1.ConfigMap
	for i := range list.Items {
		if list.Items[i].Name == f.key.Name {
			found = &list.Items[i]
		}
	}
	f.shown(found)
	stream, err := f.client.ConfigMaps(f.key.Namespace).Watch(ctx, f.only(metav1.ListOptions{
		ResourceVersion: list.ResourceVersion,
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
	f.readable()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-stream.ResultChan():
			if !open {
				return nil
			}
			if err := f.event(event); err != nil {
				f.log.Debug("watch broken", zap.Error(err))
				return nil
			}
		}
	}
}

// list is a consistent read.
func (f *follower) list(ctx context.Context) (*corev1.ConfigMapList, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	return f.client.ConfigMaps(f.key.Namespace).List(ctx, f.only(metav1.ListOptions{}))
}

// only narrows a request to the one ConfigMap, as RBAC by name wants it.
func (f *follower) only(o metav1.ListOptions) metav1.ListOptions {
	o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, f.key.Name).String()
	return o
}

func (f *follower) event(e watch.Event) error {
	switch e.Type {
	case watch.Error:
		return apierrors.FromObject(e.Object)
	case watch.Deleted:
		f.shown(nil)
	case watch.Added, watch.Modified:
		cm, ok := e.Object.(*corev1.ConfigMap)
		if !ok {
			return fmt.Errorf("the watch shows a %T", e.Object)
		}
		f.shown(cm)
	}
	return nil
}

// shown takes in what the ConfigMap says; nil if there is none.
func (f *follower) shown(cm *corev1.ConfigMap) {
	value := ""
	if cm != nil {
		value = strings.TrimSpace(cm.Data[f.key.Key])
	}
	if value != "" {
		if err := revisions.Check(value); err != nil {
			if value != f.refused {
				f.refused = value
				f.log.Warn("preferred revision is none that a member can have; the last one stays until the ConfigMap is corrected",
					zap.String("last", f.lastSaid()), zap.Error(err))
			}
			return
		}
	}
	f.refused = ""
	if p := record.Prefer(value); p != f.last {
		f.last = p
		f.deliver(p)
	}
}

// unreadable logs why nothing can be read, once for each kind of reason: the texts of
// network errors differ from one to the next.
func (f *follower) unreadable(err error) {
	kind := "reason: " + string(apierrors.ReasonForError(err))
	if kind == f.silence {
		return
	}
	f.silence = kind
	f.log.Warn("preferred revision cannot be read; the last one stays, and it is tried again",
		zap.String("last", f.lastSaid()), zap.Error(hinted(err, f.key)))
}

func (f *follower) readable() {
	if f.silence != "" {
		f.silence = ""
		f.log.Info("preferred revision can be read again")
	}
}

func (f *follower) lastSaid() string {
	if f.last.State == 0 {
		return "none, so nothing moves"
	}
	return f.last.String()
}

// hinted says what to do about it where that is known.
func hinted(err error, key Key) error {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		return err
	}
	switch api.Status().Code {
	case http.StatusForbidden:
		return fmt.Errorf("%w (needed on configmap %s in namespace %s: list, watch)", err, key.Name, key.Namespace)
	case http.StatusUnauthorized:
		return fmt.Errorf("%w (are the credentials valid, and for this cluster?)", err)
	}
	return err
}
