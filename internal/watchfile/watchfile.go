// Package watchfile follows one file by watching its directory, so it sees when the file is replaced,
// and when kubelet swaps the links in the mount of a ConfigMap.
package watchfile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// Settle is how long a directory must be quiet before we look at its file: editors and kubelet write in
// several steps, and a file that is written in place is empty for a moment.
const Settle = 100 * time.Millisecond

// patience bounds how long events may put off a look, in multiples of settle: others may write into
// the directory all the time.
const patience = 10

// Watch calls look at once. It calls look again after each event in the file's directory, once the
// directory has been quiet for settle, and at the time that look last returned, unless that is zero.
// It calls look on the caller's goroutine. It returns nil when ctx ends, and an error when it cannot
// watch: the directory is missing, or goes away. fsnotify reads events on a goroutine of its own,
// which has ended when Watch returns.
func Watch(ctx context.Context, path string, settle time.Duration, look func() (again time.Time)) (err error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch files: %w (are there too many watches? see fs.inotify.max_user_instances)", err)
	}
	defer func() { err = errors.Join(err, notify.Close()) }()
	dir := filepath.Dir(path)
	if err := notify.Add(dir); err != nil {
		return fmt.Errorf("watch directory %s: %w (it must exist, and this process must be able to read it)", dir, err)
	}
	quiet := clock.NewTimer(0) // the first look
	defer quiet.Stop()
	stirs := stirring{settle: settle}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-quiet.C:
			stirs.since = time.Time{}
			if again := look(); !again.IsZero() {
				quiet.Reset(time.Until(again))
			}
			continue
		case event, open := <-notify.Events:
			if !open || filepath.Clean(event.Name) == dir && event.Has(fsnotify.Remove|fsnotify.Rename) {
				return fmt.Errorf("directory %s is gone", dir)
			}
		case _, open := <-notify.Errors: // events may have been lost, so look
			if !open {
				return fmt.Errorf("directory %s is not watched any more", dir)
			}
		}
		if stirs.putsOff(time.Now()) {
			quiet.Reset(settle)
		}
	}
}

// stirring records the events in the directory since the last look.
type stirring struct {
	settle time.Duration
	since  time.Time // the first event; zero if none
}

// putsOff says whether an event at the time now puts off the look.
func (s *stirring) putsOff(now time.Time) bool {
	if s.since.IsZero() {
		s.since = now
	}
	return now.Sub(s.since) < patience*s.settle
}
