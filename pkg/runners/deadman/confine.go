//go:build linux

package deadman

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
)

// A confined program starts in two steps. The supervisor starts this executable under the name
// argConfine. The new process confines itself and then becomes the program. Until then the two talk
// through a socket, which closes when the process becomes the program.

// argConfine is the name under which this executable confines itself. Its argument is the number of
// the socket's descriptor, the first after the program's descriptors. If the program is executed from
// a file, that file's descriptor comes next.
const argConfine = "primacy-confine"

// confined is the message to the process that confines itself.
type confined struct {
	Path       bytestring
	Args, Env  []bytestring
	Dir        bytestring
	Supervisor int
	// Within is the control group to join; empty for none.
	Within bytestring
	Confinement
}

// refusal is the answer of that process if it could not become the program. Otherwise it does not
// answer.
type refusal struct {
	// What could not be set; empty if the program itself could not be executed.
	What  string
	Errno int
}

func init() {
	if len(os.Args) == 2 && os.Args[0] == argConfine {
		runtime.LockOSThread() // some settings belong to this thread, which then becomes the program
		syscall.Exit(confine(os.Args[1]))
	}
}

func confine(arg string) int {
	fd, err := strconv.Atoi(arg)
	if err != nil || fd < 0 { // not started by us, so there is no socket for an answer
		return 1
	}
	socket := os.NewFile(uintptr(fd), "socket")
	_ = json.NewEncoder(socket).Encode(refuse(fd, socket)) // nobody may listen
	return 1
}

// refuse returns, with the reason, only if this process could not become the program. Every way out
// must answer: a socket that closes without an answer means that this process is the program now.
func refuse(fd int, socket io.Reader) refusal {
	if err := closeOnExec(fd); err != nil {
		return refusal{descriptorsName, errnoOf(err)}
	}
	// Read the newline, too: a byte that stays unread resets the connection when this process becomes the program.
	c, err := readJSON[confined](bufio.NewReader(socket))
	if err != nil {
		return refusal{"confinement, which it could not read", int(syscall.EBADMSG)}
	}
	err = c.become()
	var no *ConfineError
	if errors.As(err, &no) {
		return refusal{no.What, errnoOf(no.Err)}
	}
	return refusal{Errno: errnoOf(err)}
}

// become executes the program; it returns only after an error.
func (c confined) become() error {
	if err := c.join(); err != nil {
		return err
	}
	if err := c.limit(OpenFiles, CPUSeconds, CoreBytes); err != nil {
		return err
	}
	if err := c.change(); err != nil {
		return err
	}
	// Limit processes only now: our own threads would have counted as processes of the new user.
	// Limit the address space last, since we need some ourselves.
	if err := c.limit(Processes, AddressSpace); err != nil {
		return err
	}
	return syscall.Exec(string(c.Path), converted[string](c.Args), converted[string](c.Env))
}

// join moves this process into the group that has the limits of the program's tree. It is not born there: what we need
// ourselves would count, so that small limits would kill us and not the program. Whoever changes the user cannot join later.
func (c confined) join() error {
	if c.Within == "" {
		return nil
	}
	makeThreads() // the limit may leave room for none
	// With this score, which a service may have, the kernel would spare the program when its limit is hit, and it would hang.
	if score, err := os.ReadFile(scoreFile); err == nil && strings.TrimSpace(string(score)) == neverKilled {
		if err := os.WriteFile(scoreFile, []byte("0"), 0); err != nil {
			return &ConfineError{treeName, err}
		}
	}
	if err := cgroup.Enter(string(c.Within)); err != nil {
		return &ConfineError{treeName, err}
	}
	return nil
}

// scoreFile says how likely the kernel kills this process when memory runs out; at neverKilled it never does.
const (
	scoreFile   = "/proc/self/oom_score_adj"
	neverKilled = "-1000"
)

// limit sets the limits of the given resources, in that order.
func (c confined) limit(order ...Resource) error {
	for _, r := range order {
		for _, l := range c.Limits {
			if l.Resource != r {
				continue
			}
			if err := syscall.Setrlimit(resources[r], &syscall.Rlimit{Cur: l.Soft, Max: l.Hard}); err != nil {
				return &ConfineError{"limit of " + string(r), err}
			}
		}
	}
	return nil
}

// change changes the user and the directory.
func (c confined) change() error {
	if u := c.User; u != nil {
		gid, uid := int(u.GID), int(u.UID)
		if err := syscall.Setgroups([]int{}); err != nil {
			return &ConfineError{"groups", err}
		}
		if err := syscall.Setresgid(gid, gid, gid); err != nil {
			return &ConfineError{"group", err}
		}
		if err := syscall.Setresuid(uid, uid, uid); err != nil {
			return &ConfineError{"user", err}
		}
	}
	// A change of the user clears the signal that the supervisor had set.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0); err != nil {
		return &ConfineError{"signal at its supervisor's death", err}
	}
	if os.Getppid() != c.Supervisor {
		syscall.Exit(1) // the supervisor died before we set the signal
	}
	if c.Dir != "" {
		if err := syscall.Chdir(string(c.Dir)); err != nil {
			return &ConfineError{"directory", err}
		}
	}
	return nil
}

// startConfined starts a program that confines itself first.
func (s *supervisor) startConfined(j job, files []*os.File, attributes *syscall.SysProcAttr) (*os.Process, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "socket") // #nosec G115 -- descriptors are small numbers
	defer ours.Close()
	c := confined{Path: j.Path, Args: j.Args, Env: j.Env, Dir: j.Dir, Supervisor: os.Getpid(), Confinement: j.Confinement}
	if j.joins() {
		c.Within = j.Within
	}
	at := len(files)
	files = append(files[:at:at], theirs)
	if string(j.Path) == programPath(programFD) {
		files = append(files, os.NewFile(programFD, "program"))
		c.Path = bytestring(programPath(at + 1))
	}
	child, err := os.StartProcess("/proc/self/exe", []string{argConfine, strconv.Itoa(at)}, &os.ProcAttr{
		Env: []string{"GOTRACEBACK=none"}, Files: files, Sys: attributes,
	})
	_ = theirs.Close()
	if err != nil {
		return nil, err
	}
	err = json.NewEncoder(ours).Encode(c)
	if err == nil {
		err = answer(ours)
	}
	if err != nil {
		_ = child.Kill()
		_, _ = child.Wait()
		return nil, err
	}
	return child, nil
}

// answer waits until the process has become the program, or returns why it could not. ECONNRESET means that the process
// ended before it had read its message, so it had not become the program.
func answer(from io.Reader) error {
	var r refusal
	err := json.NewDecoder(from).Decode(&r)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	case r.What != "":
		return &ConfineError{r.What, syscall.Errno(r.Errno)}
	}
	return syscall.Errno(r.Errno)
}

// programPath is the path of a program that is an open file, by its descriptor.
func programPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
