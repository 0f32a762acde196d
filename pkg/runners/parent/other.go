//go:build !linux

package parent

import (
	"context"
	"os"
	"time"
)

// Line is how a member tells its parent what the parent must know once the member is dead. There is none here.
type Line struct {
	// Cgroup, Left and LivesOn are empty here.
	Cgroup  string
	Left    []Session
	LivesOn []string
}

// Start returns ErrUnsupported.
func Start(Options) (*Line, error) { return nil, ErrUnsupported }

// Note returns ErrUnsupported.
func (l *Line) Note(map[string]string) error { return ErrUnsupported }

// Expect returns ErrUnsupported.
func (l *Line) Expect(_, _ string) error { return ErrUnsupported }

// Over returns ErrUnsupported.
func (l *Line) Over(string) error { return ErrUnsupported }

// Broken is nil, which is never closed.
func (l *Line) Broken() <-chan struct{} { return nil }

// Dead is what a parent knows of its member. There is no parent here.
type Dead struct{}

// Bereaved is nil.
func Bereaved() *Dead { return nil }

// Proved returns ErrUnsupported.
func (d *Dead) Proved(context.Context) error { return ErrUnsupported }

// Hurried is nil, which is never closed.
func (d *Dead) Hurried() <-chan struct{} { return nil }

// Sessions is empty.
func (d *Dead) Sessions() []Session { return nil }

// Note is empty.
func (d *Dead) Note(string) string { return "" }

// At is the zero time.
func (d *Dead) At() time.Time { return time.Time{} }

// How says that there is no parent.
func (d *Dead) How() string { return ErrUnsupported.Error() }

// InOrder is false.
func (d *Dead) InOrder() bool { return false }

// Exit ends this process with status 1.
func (d *Dead) Exit(context.Context) { os.Exit(1) }

// MemberOf is the given process id.
func MemberOf(pid int) int { return pid }
