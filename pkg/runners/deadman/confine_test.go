//go:build linux

package deadman

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
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

// TestADeathBeforeTheProgramIsNoProgram checks that a process that ended before it had read its message, so that the
// connection was reset, is not taken for the program.
func TestADeathBeforeTheProgramIsNoProgram(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "socket") // #nosec G115 -- descriptors are small numbers
	defer ours.Close()
	if _, err := ours.WriteString("{}\n"); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	if err := answer(ours); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the answer is %v, want that the connection was reset", err)
	}
}

// TestConfinedStartsOfAllSizes checks that a confined program starts if its message just fills a buffer of whoever reads
// it: a newline that nobody reads resets the connection when the process becomes the program.
func TestConfinedStartsOfAllSizes(t *testing.T) {
	const first = 512 // the first buffer of a json.Decoder; the next are each twice as long and 512 more
	for size := first; size <= 8192; size = 2*size + first {
		for around := size - 1; around <= size+1; around++ { // the supervisor's process id may have more digits than ours, or fewer
			t.Run(fmt.Sprint(around), func(t *testing.T) {
				p, err := Start(t.Context(), ofSize(t, around), clock.Boottime().Now().Add(time.Hour))
				if err != nil {
					t.Fatal(err)
				}
				p.Kill()
				p.Wait()
			})
		}
	}
}

// ofSize returns a confined program whose message has that many bytes if its supervisor's process id has as many digits as
// ours.
func ofSize(t *testing.T, size int) Program {
	t.Helper()
	// A byte more in the environment makes the message longer by none or four; a digit more in the limit, by one.
	for pad := range size {
		for _, soft := range []uint64{20, 200, 2000, 20000} {
			p := Program{
				Path: "/bin/sleep", Args: []string{"sleep", "300"}, Env: []string{"A=" + strings.Repeat("x", pad)},
				Confinement: Confinement{Limits: []Limit{{CPUSeconds, soft, 30000}}},
			}
			text, err := json.Marshal(confined{
				Path: bytestring(p.Path), Args: converted[bytestring](p.Args), Env: converted[bytestring](p.Env),
				Supervisor: os.Getpid(), Confinement: p.Confinement,
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(text) == size {
				return p
			}
		}
	}
	t.Fatalf("no message has %d bytes", size)
	return Program{}
}
