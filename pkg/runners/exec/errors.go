//go:build linux

package exec

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// StartError says why a program could not be started.
type StartError struct {
	// Field names the field of the configuration whose file is missing; empty if that is not known.
	Field string
	// Program is the program as configured; Path is where we looked for it.
	Program, Path string
	// Hint is what to do about it; it may be empty.
	Hint string
	Err  error
}

func (e *StartError) Error() string {
	text := fmt.Sprintf("cannot start %s: %v", e.Program, e.Err)
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

func (e *StartError) Unwrap() error { return e.Err }

// in returns the error with the place of its field in the block node.
func (e *StartError) in(node *yaml.Node) error {
	at, _ := strict.Lookup(node, e.Field)
	problem := fmt.Sprintf("%s is not there: %v", e.Program, e.Err)
	if e.Field == fieldDir {
		problem = fmt.Sprintf("%s is not there: %v", e.Path, e.Err)
	}
	return strict.NewError(at, e.Field, problem, e.Hint)
}

// The fields that say where a program is.
const (
	fieldProgram = "command[0]"
	fieldDir     = "dir"
	fieldProbe   = "ready.command[0]"
)

// ExitError says that a program ended before its term did.
type ExitError struct {
	Program string
	Status  deadman.Status
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("%s %v before its term ended", e.Program, e.Status)
}

// Unwrap returns runners.ErrMemory if the kernel killed it because no memory was left.
func (e *ExitError) Unwrap() error {
	if e.Status.OutOfMemory() {
		return runners.ErrMemory
	}
	return nil
}

// hint says what to do about an error of exec(2) or of the search for the program.
func hint(err error, path string) string {
	var no *deadman.ConfineError
	switch {
	case errors.As(err, &no):
		return "see user, limits and dir of the runner"
	case errors.Is(err, deadman.ErrCannotKill):
		return "give primacy CAP_KILL as well, or take CAP_SETUID from it"
	case errors.Is(err, fs.ErrNotExist):
		return "looked for " + path + "; if it is there, its interpreter or dynamic linker is missing"
	case errors.Is(err, fs.ErrPermission):
		return "is " + path + " executable for this user (chmod +x), and its file system not mounted noexec?"
	case errors.Is(err, syscall.ENOEXEC):
		return path + " is no program for this machine; a script begins with #! and its interpreter"
	}
	return ""
}
