package file

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/internal/watchfile"
	"github.com/primacy-dev/primacy/pkg/election"
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

// Freshness implements revisions.Dated.
func (s *source) Freshness() revisions.Freshness { return s.gauge.Freshness() }

// Watch implements election.Preferences. It never gives up.
func (s *source) Watch(ctx context.Context, deliver func(election.Preference)) error {
	f := &follower{source: s, keeper: revisions.Keeper{Deliver: deliver, Log: s.log, Gauge: &s.gauge, Place: "the file"}}
	revisions.Retry(ctx, func(ctx context.Context) {
		if err := watchfile.Watch(ctx, f.path, watchfile.Settle, f.look, watchfile.Stall{}); err != nil && ctx.Err() == nil {
			f.keeper.Unreadable(err.Error(), err)
		}
	})
	return nil
}

// follower belongs to the goroutine that calls Watch.
type follower struct {
	*source
	keeper revisions.Keeper
}

// look reads the file and passes its first line on. It returns zero: it asks for no look of its own.
func (f *follower) look() (again time.Time) {
	line, err := firstLine(f.path)
	if err != nil {
		f.keeper.Unreadable(err.Error(), hinted(err))
		return time.Time{}
	}
	f.keeper.Readable()
	f.keeper.Says(line)
	return time.Time{}
}

// maxLine bounds how much we read, in bytes: no revision is that long.
const maxLine = 4096

// firstLine reads the first line. It never blocks, even if a named pipe is at the path.
func firstLine(path string) (string, error) {
	file, err := watchfile.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	line, err := bufio.NewReader(io.LimitReader(file, maxLine)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return line, nil
}

// hinted adds what to do about the error, if we know it.
func hinted(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w (write the revision into it, or nothing if none is preferred)", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w (this process must be able to read it)", err)
	}
	return err
}
