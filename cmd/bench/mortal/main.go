// Command mortal is primacy with functions that record their work, and die when they must.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/cmd/bench/death"
	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/cmd/primacy/app"
	"github.com/primacy-dev/primacy/pkg/election"
)

func main() {
	app.Main(app.Func("bench.work", work), app.Func("bench.mortal", mortal), app.Func("bench.deadly", deadly))
}

// notes are this process's records, in the folder span.NotesVariable. The goroutine that records that the process lives ends with it.
var notes = sync.OnceValues(func() (span.Notes, error) {
	file := filepath.Join(os.Getenv(span.NotesVariable), fmt.Sprintf("%d", os.Getpid()))
	pulse, err := span.OpenPulse(file + span.PulseSuffix)
	if err != nil {
		return span.Notes{}, err
	}
	go func() {
		for range time.Tick(span.AliveEvery) {
			if pulse.Beat() != nil {
				return
			}
		}
	}()
	return span.OpenNotes(file)
})

// work records when it begins and ends.
func work(ctx context.Context, t election.Term) error {
	n, err := notes()
	if err != nil {
		return err
	}
	err = n.Begin(t.Election, uint64(t.Token))
	<-ctx.Done()
	return errors.Join(err, n.End(t.Election, uint64(t.Token)))
}

// mortal dies at a sign.
func mortal(ctx context.Context, t election.Term) error {
	way := death.OfProcess()
	if way == death.Stuck {
		return stubborn(ctx)
	}
	defer way.AtSign()()
	<-ctx.Done()
	return nil
}

// stubborn never returns, if a sign came before the end of its term.
func stubborn(ctx context.Context) error {
	signs, stop := death.Signs()
	defer stop()
	select {
	case <-signs:
		select {} // it ignores the end of its term
	case <-ctx.Done():
	}
	return nil
}

// deadly kills its process as soon as it begins.
func deadly(_ context.Context, t election.Term) error {
	n, err := notes()
	if err != nil {
		return err
	}
	if err := errors.Join(n.Begin(t.Election, uint64(t.Token)), n.End(t.Election, uint64(t.Token))); err != nil {
		return err
	}
	os.Exit(3)
	return nil
}
