//go:build linux

package deadman

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// descriptorsName is what the descriptors of closeOnExec are called in a ConfineError.
const descriptorsName = "descriptors to close"

// closeOnExec marks all open descriptors, from first on, to be closed on exec: no program that this process starts or becomes gets them.
// A program that got our end of a pipe would keep that pipe open after our death.
//
// close_range does it in one call, but Linux before 5.11 cannot, and a filter of system calls may not know it.
func closeOnExec(first int) error {
	if unix.CloseRange(uint(first), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil { // #nosec G115 -- a descriptor is a small number
		return nil
	}
	if err := closeEachOnExec(first); err != nil {
		return &ConfineError{descriptorsName, err}
	}
	return nil
}

func closeEachOnExec(first int) error {
	folder, err := os.Open("/proc/self/fd")
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("list them: %w", err)
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil {
			return fmt.Errorf("list them: %w", err)
		}
		if fd < first {
			continue
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil && !errors.Is(err, unix.EBADF) { // #nosec G115 -- a descriptor is a small number
			return err // EBADF: it was closed meanwhile
		}
	}
	return nil
}
