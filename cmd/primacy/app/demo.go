package app

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// newDemo is `primacy demo`: programs to try exec runners with.
func newDemo() *cobra.Command {
	c := &cobra.Command{
		Use:    "demo",
		Short:  "Programs for exec runners to try elections with",
		Hidden: true,
		Args:   noArguments,
	}
	c.AddCommand(newDemoWriter())
	return c
}

func newDemoWriter() *cobra.Command {
	var every time.Duration
	c := &cobra.Command{
		Use:   "writer",
		Short: "Print lines with the token of the term, until it ends",
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if every <= 0 {
				return &usageError{fmt.Errorf("--every: %v must be more than 0", every)}
			}
			w, err := newDemoTerm(os.Getenv, every)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return w.write(ctx, c.OutOrStdout())
		},
	}
	c.Flags().DurationVar(&every, "every", time.Second, "time between two lines")
	return c
}

// demoTerm is a program's term, as the exec runner passes it in the environment.
type demoTerm struct {
	election, revision, token string
	deadline                  record.Instant
	// extensions has a later deadline in each line; nil if there are none.
	extensions io.Reader
	every      time.Duration
	clock      clock.Clock
}

func newDemoTerm(env func(string) string, every time.Duration) (*demoTerm, error) {
	t := &demoTerm{
		election: env("PRIMACY_ELECTION"), revision: env("PRIMACY_MEMBER_REVISION"), token: cmp.Or(env("PRIMACY_TOKEN"), "none"),
		every: every, clock: clock.Boottime(),
	}
	deadline, err := strconv.ParseInt(env("PRIMACY_DEADLINE"), 10, 64)
	if err != nil || t.election == "" {
		return nil, fmt.Errorf("there is no term: PRIMACY_ELECTION and PRIMACY_DEADLINE are not set (run this as an exec runner)")
	}
	t.deadline = record.Instant(deadline)
	if fd, err := strconv.Atoi(env("PRIMACY_EXTENSIONS_FD")); err == nil {
		t.extensions = os.NewFile(uintptr(fd), "extensions")
	}
	return t, nil
}

// write prints a line at each interval until ctx ends. It also ends, with an error, if
// primacy is gone or the deadline has passed.
func (t *demoTerm) write(ctx context.Context, out io.Writer) error {
	later, gone := t.follow(ctx)
	tick := clock.NewTimer(t.every)
	defer tick.Stop()
	for n := 1; ; n++ {
		left := clock.Until(t.clock, t.deadline)
		if left <= 0 {
			return fmt.Errorf("the deadline of token %s has passed", t.token)
		}
		if _, err := fmt.Fprintf(out, "%s: write %d with token %s, revision %s, dead in %.1f s unless extended\n",
			t.election, n, t.token, t.revision, left.Seconds()); err != nil {
			return err
		}
		for waiting := true; waiting; {
			select {
			case t.deadline = <-later:
			case <-gone:
				return fmt.Errorf("primacy is gone")
			case <-tick.C:
				tick.Reset(t.every)
				waiting = false
			case <-ctx.Done():
				_, err := fmt.Fprintf(out, "%s: stopped after %d writes with token %s\n", t.election, n, t.token)
				return err
			}
		}
	}
}

// follow reads extensions. Nothing can interrupt the read of its goroutine, so the
// goroutine ends with the process, or when primacy closes the pipe: then it closes gone.
func (t *demoTerm) follow(ctx context.Context) (later <-chan record.Instant, gone <-chan struct{}) {
	if t.extensions == nil {
		return nil, nil
	}
	deadlines, ended := make(chan record.Instant), make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(t.extensions)
		for lines.Scan() {
			at, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil {
				continue
			}
			select {
			case deadlines <- record.Instant(at):
			case <-ctx.Done():
				return
			}
		}
	}()
	return deadlines, ended
}
