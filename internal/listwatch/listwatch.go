// Package listwatch shows what a cluster has and then what changes, with the verbs list and watch alone. It bounds how long
// each step may take: a proxy that has lost a request or a stream may still answer pings, and would never end it.
//
// Goroutines: client-go reads the stream on one of its own, which has ended when Once returns.
package listwatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// Source is what is listed and watched.
type Source struct {
	List  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	Watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// FieldSelector narrows both; empty for all objects.
	FieldSelector string
}

// Listener hears what Once sees, on the goroutine of Once. After an error Once returns it.
type Listener struct {
	// Listed takes the list, which is as new as the store.
	Listed func(runtime.Object) error
	// Watching is called once the server has answered the watch: from the list on we see each change. It may be nil.
	Watching func()
	// Changed takes a change, or the error that ends the stream.
	Changed func(watch.Event) error
}

const (
	// listTime is how long one list may take. All Pods or nodes of a big cluster take long while its API server is busy.
	listTime = 30 * time.Second
	// openTime is how long the server may take to answer a watch. It answers at once, even if nothing changes.
	openTime = 30 * time.Second
)

const (
	// We ask the server to end a watch after a random time between watchSeconds and twice that, so that
	// many watches don't start again at the same moment.
	watchSeconds = 300
	// overtime is how much longer than that a watch may last.
	overtime = 30 * time.Second
)

// Once lists, and then watches until the stream ends, or ctx. A stream that the server should have ended long ago ends as
// well: the next list shows what it may have swallowed. The end of a stream is no error.
func (s Source) Once(ctx context.Context, l Listener) error {
	version, err := s.list(ctx, l)
	if err != nil {
		return err
	}
	lasts := watchSeconds + rand.Int64N(watchSeconds)
	stream, err := s.open(ctx, metav1.ListOptions{ResourceVersion: version, TimeoutSeconds: &lasts, FieldSelector: s.FieldSelector})
	if err != nil {
		return err
	}
	defer func() { // when this returns, client-go's goroutine has ended
		stream.Stop()
		for range stream.ResultChan() {
		}
	}()
	if l.Watching != nil {
		l.Watching()
	}
	over := clock.NewTimer(time.Duration(lasts)*time.Second + overtime)
	defer over.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-over.C:
			return nil
		case e, open := <-stream.ResultChan():
			if !open {
				return nil
			}
			if err := l.Changed(e); err != nil {
				return err
			}
		}
	}
}

// list makes a consistent read. It returns the version from which to watch.
func (s Source) list(ctx context.Context, l Listener) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	list, err := s.List(ctx, metav1.ListOptions{FieldSelector: s.FieldSelector})
	if err != nil {
		return "", err
	}
	about, err := meta.ListAccessor(list)
	if err != nil {
		return "", err
	}
	return about.GetResourceVersion(), l.Listed(list)
}

// open opens a watch, which lasts until ctx ends. It gives up if the server does not answer.
func (s Source) open(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	late := clock.AfterFunc(openTime, func() { giveUp(errNoAnswer) })
	stream, err := s.Watch(ctx, o)
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

var errNoAnswer = fmt.Errorf("no answer to a watch within %v (is the API server, or a proxy before it, overloaded?)", openTime)

// closing is a stream whose Stop ends the stream's context, too.
type closing struct {
	watch.Interface
	end context.CancelCauseFunc
}

// Stop implements watch.Interface.
func (c closing) Stop() { c.Interface.Stop(); c.end(nil) }
