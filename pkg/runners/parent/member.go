//go:build linux

package parent

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"github.com/primacy-dev/primacy/pkg/runners/deadman"
)

// MemberOf is the process id of the member whose parent has the given one. It is the given one if that process has no
// member: it was started without a parent, or the member is yet to start, or has died.
func MemberOf(pid int) int {
	children, err := deadman.ChildrenOf(pid)
	if err != nil {
		return pid
	}
	line := commandLine(pid)
	for _, child := range children {
		if len(line) > 0 && bytes.Equal(commandLine(child), line) {
			return child
		}
	}
	return pid
}

func commandLine(pid int) []byte {
	line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return line
}
