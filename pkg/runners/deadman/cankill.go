//go:build linux

package deadman

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrCannotKill: no program may start, since it could change to another user, whom this process may
// not signal. It would not help to take CAP_SETUID from the program: a program that fails to change
// its user may go on as root.
var ErrCannotKill = errors.New("this process has CAP_SETUID but not CAP_KILL, so it could not kill a program that becomes another user")

// CanKill returns an error if this process may be unable to kill the programs that it starts.
func CanKill() error {
	have, err := capabilities()
	if err != nil {
		return err
	}
	if have.may(unix.CAP_SETUID, permitted) && !have.may(unix.CAP_KILL, effective) {
		return ErrCannotKill
	}
	return nil
}

// sets are the capabilities of a thread.
type sets [2]unix.CapUserData

func capabilities() (sets, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var s sets
	if err := unix.Capget(&header, &s[0]); err != nil {
		return s, fmt.Errorf("look at the capabilities: %w", err)
	}
	return s, nil
}

func (s sets) may(capability int, set func(unix.CapUserData) uint32) bool {
	return set(s[capability/32])&(1<<(capability%32)) != 0
}

func effective(d unix.CapUserData) uint32 { return d.Effective }
func permitted(d unix.CapUserData) uint32 { return d.Permitted }
