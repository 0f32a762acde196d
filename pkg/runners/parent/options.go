package parent

import (
	"errors"

	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
)

// Options say how a parent looks after its member.
type Options struct {
	// Cgroup says whether the member gets a control group of its own. The parent then also kills, and waits for, what
	// does not descend from the member any more. Default: cgroup.Auto.
	Cgroup cgroup.Mode
}

// Session is a session that a dead member had told of.
type Session struct{ Name, Identity string }

// ErrUnsupported says that no process can have a parent on this operating system: only Linux proves a death.
var ErrUnsupported = errors.New("no parent process on this operating system (it needs Linux)")

// ErrChildren says that a process cannot be a parent: it has children that are not its member's. A shell leaves such
// children if it executes a program in its own place.
var ErrChildren = errors.New("this process has children from before it was executed")

// ErrNotProved says that something of the member lives on, or may.
var ErrNotProved = errors.New("processes of the dead member live on")
