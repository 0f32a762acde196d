// Package watchfile follows one file by watching its directory, so it sees when the file is replaced,
// and when kubelet swaps the links in the mount of a ConfigMap.
package watchfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// anew is how often we look without an event. None comes when a link on the path to the directory gets another target, or
// when another machine changes a file of a shared disk.
const anew = 30 * time.Second

// Watch calls look at once. It calls look again
//   - after each event in the file's directory, once the directory has been quiet for settle;
//   - at the time that look last returned, unless that is zero;
//   - half a minute after the last look, in any case.
//
// It calls look on the caller's goroutine. For the stall, what Watch itself asks of the disk is a part of the look. Watch returns nil when
// ctx ends, though not while the disk does not answer, and an error when it cannot watch the directory at first. If the directory
// goes away later, Watch looks at intervals of ten times settle until there is one again. fsnotify reads events on a goroutine
// of its own, which has ended when Watch returns.
func Watch(ctx context.Context, path string, settle time.Duration, look func() (again time.Time), stall Stall) (err error) {
	return watch(ctx, path, settle, anew, look, stall)
}

func watch(ctx context.Context, path string, settle, anew time.Duration, look func() (again time.Time), stall Stall) (err error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch files: %w (are there too many watches? see fs.inotify.max_user_instances)", err)
	}
	defer func() { err = errors.Join(err, notify.Close()) }()
	d := directory{path: filepath.Dir(path), notify: notify}
	stall.during(func() { err = d.attend() })
	if err != nil {
		return fmt.Errorf("watch directory %s: %w (it must exist, and this process must be able to read it)", d.path, err)
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
			wait := anew
			stall.during(func() {
				if d.attend() != nil { // look says what is wrong with the file
					wait = min(wait, patience*settle)
				}
				if again := look(); !again.IsZero() {
					wait = min(wait, time.Until(again))
				}
			})
			quiet.Reset(wait)
			continue
		case _, open := <-notify.Events:
			if !open {
				return fmt.Errorf("directory %s is not watched any more", d.path)
			}
		case _, open := <-notify.Errors: // events may have been lost, so look
			if !open {
				return fmt.Errorf("directory %s is not watched any more", d.path)
			}
		}
		if stirs.putsOff(time.Now()) {
			quiet.Reset(settle)
		}
	}
}

// directory watches the directory at a path, which may be another one later.
type directory struct {
	path   string
	notify *fsnotify.Watcher
	// watched is the directory that we watch; nil for none.
	watched os.FileInfo
}

// attend watches the directory that is at the path now, unless we watch it already.
func (d *directory) attend() error {
	now, err := os.Stat(d.path)
	if err == nil && d.watched != nil && os.SameFile(d.watched, now) && slices.Contains(d.notify.WatchList(), d.path) {
		return nil
	}
	_ = d.notify.Remove(d.path) // it may not be watched
	d.watched = nil
	if err == nil {
		err = d.notify.Add(d.path)
	}
	if err == nil {
		d.watched = now
	}
	return err
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
