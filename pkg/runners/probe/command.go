//go:build linux

package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners/child"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
)

// commandCheck runs a program.
func commandCheck(s Spec, p Program) check {
	env := append(child.Inherited(p.Env), child.Reserved+"ELECTION="+p.Election)
	return func(ctx context.Context) error {
		path, err := p.Locate()
		if err != nil {
			return err
		}
		said, err := run(ctx, s.Timeout, deadman.Program{Path: path, Args: s.Command, Env: env, Dir: p.Dir, Confinement: p.Confinement})
		if err != nil {
			return failed(fmt.Sprintf("%s %v", s.Command[0], err), said)
		}
		return nil
	}
}

// run runs a program until it ends, or is killed at its timeout or when ctx ends. It returns the end of its output; nothing of the
// program lives then.
func run(ctx context.Context, timeout time.Duration, program deadman.Program) ([]byte, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer func() { _ = null.Close() }()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	t := follow(r)
	program.Files = []*os.File{null, w, w}
	now := clock.Boottime()
	dead := now.Now().Add(timeout + min(max(timeout/4, 50*time.Millisecond), 500*time.Millisecond)) // deadman.KillAt is the timeout then
	process, err := deadman.Start(ctx, program, deadman.KillAt(now, dead))
	_ = w.Close()
	end := deadman.ByItself
	var status deadman.Status
	if err == nil {
		term, _ := election.NewTerm(election.Term{}, dead)
		end = process.Watch(ctx, term, deadman.Watch{Log: zap.NewNop()})
		status = process.Wait()
	}
	said := t.end()
	switch {
	case errors.Is(err, deadman.ErrLate), end == deadman.Expired:
		return said, fmt.Errorf("gave no answer within %v, and was killed", timeout)
	case err != nil:
		return said, fmt.Errorf("cannot start: %w", err)
	case !status.Success():
		return said, fmt.Errorf("%v", status)
	}
	return said, nil
}

// mostSaid is how much of what a program said last is read for an error, mostShown how much of its last line is shown.
const (
	mostSaid  = 4 << 10
	mostShown = 200
)

// tail keeps the end of an output. One goroutine reads until end: a program never waits for us.
type tail struct {
	pipe   *os.File
	reader sync.WaitGroup
	over   chan struct{}
	kept   []byte
}

func follow(pipe *os.File) *tail {
	t := &tail{pipe: pipe, over: make(chan struct{})}
	t.reader.Go(func() {
		defer close(t.over)
		for buffer := make([]byte, mostSaid); ; {
			n, err := pipe.Read(buffer)
			t.kept = append(t.kept, buffer[:n]...)
			if cut := len(t.kept) - mostSaid; cut > 0 {
				t.kept = append(t.kept[:0], t.kept[cut:]...)
			}
			if err != nil {
				return
			}
		}
	})
	return t
}

// lingers is how long we read on when a program is dead: a process that others started for it may hold its output open.
const lingers = 100 * time.Millisecond

// end returns the end of the output.
func (t *tail) end() []byte {
	timer := clock.NewTimer(lingers)
	select {
	case <-t.over:
	case <-timer.C:
	}
	timer.Stop()
	_ = t.pipe.SetReadDeadline(time.Now())
	t.reader.Wait()
	_ = t.pipe.Close()
	return t.kept
}

// failed is an error of the text, and of the last line that was said.
func failed(text string, said []byte) error {
	line := bytes.TrimSpace(said)
	if i := bytes.LastIndexAny(line, "\r\n"); i >= 0 {
		line = line[i+1:]
	}
	shown := strings.ToValidUTF8(string(bytes.Map(plain, line)), "\uFFFD")
	if len(shown) > mostShown {
		shown = strings.ToValidUTF8(shown[:mostShown], "") + "..."
	}
	if shown == "" {
		return errors.New(text)
	}
	return errors.New(text + ": " + child.Words(shown))
}

// plain replaces the control characters of ASCII, which terminals obey; child.Words escapes the others.
func plain(r rune) rune {
	if r < ' ' {
		return ' '
	}
	return r
}
