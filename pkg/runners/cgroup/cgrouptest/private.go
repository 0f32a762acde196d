//go:build linux

// Package cgrouptest keeps the control groups of tests apart from those of other processes on the machine.
package cgrouptest

import (
	"os"

	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
)

// Private moves this process into a control group of its own, where this is allowed, and so all that it starts: what
// others leave is not found there. leave moves it back and removes the group.
func Private() (leave func()) {
	own, err := cgroup.Own()
	if err != nil {
		return func() {}
	}
	private, err := os.MkdirTemp(own, "test-")
	if err != nil {
		return func() {}
	}
	if cgroup.Join(private) != nil {
		_ = os.Remove(private)
		return func() {}
	}
	return func() {
		if cgroup.Join(own) == nil {
			_ = cgroup.Clear(private)
		}
	}
}
