package config

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a directory must be quiet before its file is read: editors and
// kubelet write in several steps.
const settle = 100 * time.Millisecond

// Watch delivers what the file says, now and whenever that changes, until ctx ends;
// then it returns nil. It calls deliver from its own goroutine's stack, one call at a
// time, either with a configuration that is valid as a whole or with the error that
// keeps the one before in force. What says the same in other words is not delivered,
// except after an error, which it ends.
//
// It watches the file's directory, so it sees files that are replaced and the links
// that kubelet swaps in the mount of a ConfigMap. It returns an error when it cannot
// watch at all: the directory is missing, or goes away.
func Watch(ctx context.Context, path string, deliver func(*Configuration, error)) error {
	w := &watcher{path: path, parse: Parse, deliver: deliver, settle: settle}
	return w.run(ctx)
}

// Watch is like the function Watch for the file of this process: flags and environment
// replace what the file says, and nothing is delivered until it differs from what was
// loaded.
func (p *Process) Watch(ctx context.Context, deliver func(*Configuration, error)) error {
	if p.Configuration == nil {
		return errors.New("watch configuration: the process has none")
	}
	w := &watcher{path: p.Config, parse: p.Parse, deliver: deliver, settle: settle, current: p.Configuration}
	return w.run(ctx)
}

// watcher belongs to the goroutine that runs it.
type watcher struct {
	path    string
	parse   func(string, []byte) (*Configuration, error)
	deliver func(*Configuration, error)
	settle  time.Duration

	stirred time.Time      // the first event since the last look; zero if none
	current *Configuration // what was delivered last; nil at first
	bytes   [sha256.Size]byte
	failure string // the error delivered last, unless ended
}

func (w *watcher) run(ctx context.Context) (err error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch configuration: %w", err)
	}
	defer func() { err = errors.Join(err, notify.Close()) }()
	dir := filepath.Dir(w.path)
	if err := notify.Add(dir); err != nil {
		return fmt.Errorf("watch configuration: %w", err)
	}
	w.look()
	quiet := time.NewTimer(w.settle)
	quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-notify.Events:
			if !open {
				return errors.New("watch configuration: the watcher has ended")
			}
			if filepath.Clean(event.Name) == dir && event.Has(fsnotify.Remove|fsnotify.Rename) {
				return fmt.Errorf("watch configuration: directory %s is gone", dir)
			}
			w.stir(quiet)
		case _, open := <-notify.Errors:
			// Events may be lost, so the file is looked at.
			if !open {
				return errors.New("watch configuration: the watcher has ended")
			}
			w.stir(quiet)
		case <-quiet.C:
			w.stirred = time.Time{}
			w.look()
		}
	}
}

// stir puts off the look at the file, but not for ever: others may write beside it all
// the time.
func (w *watcher) stir(quiet *time.Timer) {
	const patience = 10
	now := time.Now()
	if w.stirred.IsZero() {
		w.stirred = now
	}
	if now.Sub(w.stirred) < patience*w.settle {
		quiet.Reset(w.settle)
	}
}

// look reads the file and delivers what is new.
func (w *watcher) look() {
	data, err := read(w.path)
	if err != nil {
		w.bytes = [sha256.Size]byte{}
		w.fail(err)
		return
	}
	sum := sha256.Sum256(data)
	if sum == w.bytes {
		return
	}
	w.bytes = sum
	c, err := w.parse(w.path, data)
	if err != nil {
		w.fail(err)
		return
	}
	if w.current != nil && w.failure == "" && Compare(w.current, c).None() {
		return
	}
	w.current, w.failure = c, ""
	w.deliver(c, nil)
}

func (w *watcher) fail(err error) {
	if err.Error() != w.failure {
		w.failure = err.Error()
		w.deliver(nil, err)
	}
}
