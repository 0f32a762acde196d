//go:build linux

package deadman

import (
	"os"
	"syscall"
	"testing"
)

// roles are the helper programs that this test binary can be, by the name under which it is started.
var roles = map[string]func() error{}

func TestMain(m *testing.M) {
	if role := roles[os.Args[0]]; role != nil {
		if err := role(); err != nil {
			println(os.Args[0]+":", err.Error())
			syscall.Exit(1)
		}
		syscall.Exit(0)
	}
	os.Exit(m.Run())
}
