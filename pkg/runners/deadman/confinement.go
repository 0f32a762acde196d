//go:build linux

package deadman

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
)

// Confinement gives a program fewer rights than this process has. A process of ours confines itself
// and then becomes the program, so that the confinement holds from the program's first instruction.
type Confinement struct {
	// User, if set, is the user that the program runs as. It is in that user's group and no other.
	User *User
	// Limits are those of setrlimit(2). A program inherits the others from this process, but dumps no
	// core.
	Limits []Limit
	// Tree are limits of the program together with all that it starts. They need a control group (Within); without one
	// the program does not start.
	Tree cgroup.Limits
}

// treeName is what Tree is called in a ConfineError.
const treeName = "limits of its process tree"

// User is a user and a group, by their numbers.
type User struct{ UID, GID uint32 }

// Limit is one limit. A use beyond Soft fails, or causes a signal; the program itself may raise Soft
// up to Hard.
type Limit struct {
	Resource   Resource
	Soft, Hard uint64
}

// Resource names a resource whose use can be limited.
type Resource string

// Resources, as the kernel counts them: open files, bytes of address space, seconds of work
// and bytes of a core dump for each process, processes and threads for each user.
const (
	OpenFiles    Resource = "open files"
	AddressSpace Resource = "address space"
	CPUSeconds   Resource = "cpu seconds"
	CoreBytes    Resource = "core dumps"
	Processes    Resource = "processes"
)

var resources = map[Resource]int{
	OpenFiles: unix.RLIMIT_NOFILE, AddressSpace: unix.RLIMIT_AS, CPUSeconds: unix.RLIMIT_CPU,
	CoreBytes: unix.RLIMIT_CORE, Processes: unix.RLIMIT_NPROC,
}

func (c Confinement) empty() bool {
	return c.User == nil && len(c.Limits) == 0 && !c.joins()
}

// joins says whether the program joins its control group late, since that has limits, and is not born in it.
func (c Confinement) joins() bool { return c.Tree != cgroup.Limits{} }

func (c Confinement) limits(r Resource) bool {
	return slices.ContainsFunc(c.Limits, func(l Limit) bool { return l.Resource == r })
}

// HardLimit returns the most that a program may have: this process's own hard limit.
func HardLimit(r Resource) (uint64, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(resources[r], &l); err != nil {
		return 0, fmt.Errorf("look at the limit of %s: %w", r, err)
	}
	return l.Max, nil
}

// Lacks names the capabilities that this process lacks to run, and to kill, a program of another
// user; empty if it has all of them.
func Lacks() (string, error) {
	have, err := capabilities()
	if err != nil {
		return "", err
	}
	var lacking []string
	for _, c := range []struct {
		name string
		bit  int
	}{{"CAP_SETUID", unix.CAP_SETUID}, {"CAP_SETGID", unix.CAP_SETGID}, {"CAP_KILL", unix.CAP_KILL}} {
		if !have.may(c.bit, effective) {
			lacking = append(lacking, c.name)
		}
	}
	return strings.Join(lacking, ", "), nil
}

// Privileged says whether this process's user is exempt from the limit of processes.
func Privileged() bool { return syscall.Geteuid() == 0 }

// ConfineError says why a program could not be confined.
type ConfineError struct {
	// What could not be set.
	What string
	Err  error
}

func (e *ConfineError) Error() string { return fmt.Sprintf("cannot set its %s: %v", e.What, e.Err) }

func (e *ConfineError) Unwrap() error { return e.Err }
