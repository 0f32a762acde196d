//go:build linux

package deadman

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRefusesWhatItCannotRead checks that a process that cannot even begin to confine itself answers:
// a socket that closes without an answer means that it has become the program.
func TestRefusesWhatItCannotRead(t *testing.T) {
	for name, told := range map[string]string{"nothing": "", "half of it": `{"Path":"L2Jpbi90cnVl","Args":["dHJ`, "something else": "hello\n"} {
		t.Run(name, func(t *testing.T) {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			ours, theirs := os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "socket") // #nosec G115 -- descriptors are small numbers
			defer ours.Close()
			child, err := os.StartProcess("/proc/self/exe", []string{argConfine, strconv.Itoa(3)}, &os.ProcAttr{Files: []*os.File{nil, nil, nil, theirs}})
			_ = theirs.Close()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = child.Wait() }()
			if _, err := ours.WriteString(told); err != nil {
				t.Fatal(err)
			}
			if err := unix.Shutdown(pair[0], unix.SHUT_WR); err != nil {
				t.Fatal(err)
			}
			err = answer(ours)
			var no *ConfineError
			if !errors.As(err, &no) || !errors.Is(err, syscall.EBADMSG) {
				t.Errorf("it answered %v, want that it could not be confined", err)
			}
		})
	}
}
