package file

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/revisions"
)

// New makes the source that reads the file. A nil log means that nothing is logged.
func New(path string, log *zap.Logger) election.Preferences {
	env := revisions.Env{Log: log}.Defaults()
	return &source{path: path, log: env.Log.With(zap.String("file", path))}
}

type source struct {
	path  string
	log   *zap.Logger
	gauge revisions.Gauge
}

// settle is how long a directory must be quiet before its file is read: a file that is
// written in place is empty for a moment. The file is looked at after patience even if
// others write beside it all the time.
const (
	settle   = 100 * time.Millisecond
	patience = time.Second
)

// Freshness implements revisions.Dated.
func (s *source) Freshness() revisions.Freshness { return s.gauge.Freshness() }

// Watch implements election.Preferences. It never gives up.
func (s *source) Watch(ctx context.Context, deliver func(election.Preference)) error {
	f := &follower{source: s, keeper: revisions.Keeper{Deliver: deliver, Log: s.log, Gauge: &s.gauge, Place: "the file"}}
	revisions.Retry(ctx, func(ctx context.Context) {
		if err := f.follow(ctx); err != nil && ctx.Err() == nil {
			f.keeper.Unreadable(err.Error(), err)
		}
	})
	return nil
}

// follower belongs to the goroutine that watches.
type follower struct {
	*source
	keeper revisions.Keeper
}

// follow reads the file now and after every change, until its directory is gone.
func (f *follower) follow(ctx context.Context) (err error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch files: %w (are there too many watches? see fs.inotify.max_user_instances)", err)
	}
	defer func() { err = errors.Join(err, notify.Close()) }()
	dir := filepath.Dir(f.path)
	if err := notify.Add(dir); err != nil {
		return fmt.Errorf("watch directory %s: %w (it must exist, and this process must be able to read it)", dir, err)
	}
	f.look()
	quiet := clock.NewTimer(settle)
	quiet.Stop()
	var stirred time.Time // the first event since the last look; zero if none
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-quiet.C:
			stirred = time.Time{}
			f.look()
			continue
		case event, open := <-notify.Events:
			if !open || filepath.Clean(event.Name) == dir && event.Has(fsnotify.Remove|fsnotify.Rename) {
				return fmt.Errorf("directory %s is gone", dir)
			}
		case _, open := <-notify.Errors: // events may be lost, so the file is looked at
			if !open {
				return fmt.Errorf("directory %s is not watched any more", dir)
			}
		}
		if stirred.IsZero() {
			stirred = time.Now()
		}
		if time.Since(stirred) < patience {
			quiet.Reset(settle)
		}
	}
}

// look reads the file and says what it says.
func (f *follower) look() {
	line, err := firstLine(f.path)
	if err != nil {
		f.keeper.Unreadable(err.Error(), hinted(err))
		return
	}
	f.keeper.Readable()
	f.keeper.Says(line)
}

// maxLine bounds what is read: no revision is that long.
const maxLine = 4096

// firstLine does not wait for anybody, whatever stands at the path: that may be a pipe.
func firstLine(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", path)
	}
	line, err := bufio.NewReader(io.LimitReader(file, maxLine)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return line, nil
}

// hinted says what to do about it where that is known.
func hinted(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w (write the revision into it, or nothing if none is preferred)", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w (this process must be able to read it)", err)
	}
	return err
}
