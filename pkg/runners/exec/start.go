//go:build linux

package exec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/child"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
)

// process is the program with its pipes.
type process struct {
	*deadman.Process
	stdout, stderr *child.Output
	extensions     *extensions
}

// start starts the program, and the goroutines that serve its pipes.
func start(ctx context.Context, c Command, budgets *child.Budgets, term election.Term, deadline record.Instant, log *zap.Logger) (*process, error) {
	path, err := place(c)
	if err != nil {
		return nil, err
	}
	p := &process{}
	files, err := p.files(log, budgets)
	defer closeAll(files)
	if err == nil {
		p.Process, err = deadman.Start(ctx, deadman.Program{
			Path: path, Folders: folders(), Args: c.Args, Dir: c.Dir, Files: files, Confinement: c.Confinement,
			Env: append(child.Environment(c.Env, term, deadline), child.Reserved+"EXTENSIONS_FD="+strconv.Itoa(extensionsFD)),
		}, deadman.KillAt(c.Clock, deadline))
		term.Ended(deadman.EndedOf(err)) // the program may have begun; it is dead now
	}
	switch {
	case errors.Is(err, deadman.ErrStopped):
		p.end()
		return nil, err
	case errors.Is(err, deadman.ErrLate):
		p.end()
		return nil, fmt.Errorf("%s was not started: %w", c.Args[0], runners.Late(term, deadline))
	case err != nil:
		p.end()
		if errors.Is(err, fs.ErrNotExist) || inPath(c) {
			switch found, missing := locateSoon(c); {
			case errors.Is(missing, errNoAnswer): // the error of the start is all that we know
			case missing != nil:
				return nil, missing
			default:
				path = found
			}
		}
		return nil, &StartError{Program: c.Args[0], Path: path, Err: err, Hint: hint(err, path)}
	}
	p.extensions.begin(term, deadline)
	return p, nil
}

// files returns the program's descriptors, which the caller closes. The other ends of the pipes stay
// in p.
func (p *process) files(log *zap.Logger, budgets *child.Budgets) (theirs []*os.File, err error) {
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	theirs = append(theirs, stdin)
	var f *os.File
	if p.stdout, f, err = child.NewOutput(log, "stdout", budgets.Of("stdout")); err != nil {
		return theirs, err
	}
	theirs = append(theirs, f)
	if p.stderr, f, err = child.NewOutput(log, "stderr", budgets.Of("stderr")); err != nil {
		return theirs, err
	}
	theirs = append(theirs, f)
	if p.extensions, f, err = newExtensions(); err != nil {
		return theirs, err
	}
	return append(theirs, f), nil
}

// end reads the remaining output, and closes the pipes.
func (p *process) end() {
	if p.extensions != nil {
		p.extensions.end()
	}
	var ends []func()
	for _, o := range []*child.Output{p.stdout, p.stderr} {
		if o != nil {
			ends = append(ends, o.End)
		}
	}
	child.AtOnce(ends...)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// locate finds the program, and checks that it is there and that its directory is. If their file system does not answer,
// locate hangs.
func locate(c Command) (string, error) {
	program := c.Args[0]
	if c.Dir != "" {
		if _, err := os.Stat(c.Dir); err != nil {
			return "", &StartError{Field: fieldDir, Program: program, Path: c.Dir, Err: err, Hint: "dir must be a directory that exists"}
		}
	}
	path, err := find(c)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", missing(program, path, err)
	}
	return path, nil
}

// locateFor is how long a run looks for the reason why its program did not start. It may be the end of its term.
const locateFor = 200 * time.Millisecond

var errNoAnswer = errors.New("a file system does not answer")

// locateSoon is locate, or errNoAnswer if that takes too long.
func locateSoon(c Command) (string, error) {
	type answer struct {
		path string
		err  error
	}
	found := make(chan answer, 1)
	go func() { // left behind, it ends when the file system answers
		path, err := locate(c)
		found <- answer{path, err}
	}()
	timer := clock.NewTimer(locateFor)
	defer timer.Stop()
	select {
	case at := <-found:
		return at.path, at.err
	case <-timer.C:
		return "", errNoAnswer
	}
}

// inPath says whether the program is one of PATH.
func inPath(c Command) bool { return !strings.ContainsRune(c.Args[0], '/') }

// folders are those of PATH. As os/exec does, nobody looks for programs in a folder that depends on where he is.
func folders() []string {
	return slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(folder string) bool { return !filepath.IsAbs(folder) })
}

// find finds the program: in PATH if its name has no slash, otherwise at its place.
func find(c Command) (string, error) {
	program := c.Args[0]
	if inPath(c) {
		path, err := osexec.LookPath(program)
		if err == nil {
			return path, nil
		}
		var lookup *osexec.Error
		if errors.As(err, &lookup) {
			err = lookup.Err
		}
		where := os.Getenv("PATH")
		return "", &StartError{Field: fieldProgram, Program: program, Path: where, Err: err,
			Hint: fmt.Sprintf("PATH is %q; a program outside it needs its path, such as ./%s", where, program)}
	}
	return place(c)
}

// place is where the program is: a name of PATH, or a path relative to the program's directory. It does not look there. That look may
// hang, and only the supervisor may hang: its start has a deadline.
func place(c Command) (string, error) {
	program := c.Args[0]
	if inPath(c) {
		return program, nil
	}
	path := program
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", missing(program, path, err)
	}
	return path, nil
}

func missing(program, path string, err error) error {
	return &StartError{Field: fieldProgram, Program: program, Path: path, Err: err,
		Hint: "a relative path starts at dir, or at primacy's own directory where dir is not set"}
}
