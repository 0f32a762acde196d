//go:build linux

package deadman

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A supervisor reads, from its pipe, first the job as one line of JSON, then orders; its guard reads
// orders. Both write reports to one pipe back to us. Orders and reports are lines shorter than
// PIPE_BUF, so each is written whole or not at all.

// arg0 is the name under which this executable is a supervisor.
const arg0 = "primacy-deadman"

// Descriptors of a supervisor. The program's descriptors, its 0, 1, ..., follow from firstFD on.
const (
	controlFD = iota + 3
	reportFD
	programFD // the program itself, if it is not run by its path
	firstFD
)

// job is the task of a supervisor.
type job struct {
	Path      bytestring
	Folders   []bytestring `json:",omitempty"`
	Args, Env []bytestring
	Dir       bytestring
	// Files is how many descriptors are the program's.
	Files int
	Kill  record.Instant
	// Guard is the process id of the supervisor's guard.
	Guard int
	// Within is the control group of the program alone, with the limits of its tree, if any; empty if there is no such group.
	Within bytestring
	Confinement
}

// bytestring is a string of any bytes, as arguments and paths are. JSON strings hold only Unicode.
type bytestring string

// MarshalText encodes the bytes as Base64.
func (b bytestring) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, []byte(b)), nil
}

// UnmarshalText decodes Base64.
func (b *bytestring) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	*b = bytestring(raw)
	return err
}

// converted converts strings of one type to another.
func converted[To, From ~string](all []From) []To {
	to := make([]To, len(all))
	for i, s := range all {
		to[i] = To(s)
	}
	return to
}

// readJSON reads a line of JSON with its newline. A json.Decoder may leave the newline unread.
func readJSON[T any](from *bufio.Reader) (T, error) {
	var message T
	line, err := from.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &message)
	}
	return message, err
}

// order is a message to a supervisor or a guard.
type order struct {
	verb verb
	// at is when to kill the program from now on.
	at record.Instant
}

type verb byte

const (
	// extend changes when to kill; once the program is stopping, to an earlier instant only.
	extend verb = 'K'
	// stop ends the program: SIGTERM to its group now, SIGKILL at the instant.
	stop verb = 'T'
)

func (o order) line() []byte { return fmt.Appendf(nil, "%c %d\n", o.verb, o.at) }

var errOrder = errors.New("no order")

func readOrder(from *bufio.Reader) (order, error) {
	line, err := from.ReadString('\n')
	if err != nil {
		return order{}, err
	}
	name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	at, err := strconv.ParseInt(rest, 10, 64)
	if err != nil || name != string(extend) && name != string(stop) {
		return order{}, errOrder
	}
	return order{verb(name[0]), record.Instant(at)}, nil
}

// report is a message from a supervisor or a guard.
type report struct {
	what fact
	n    int64
	// thing names what was refused.
	thing string
}

type fact string

const (
	supervising fact = "supervising" // n is the supervisor's own process id
	started     fact = "started"     // n is the program's process id
	failed      fact = "failed"      // the program could not be started; n is the errno, or 0
	refused     fact = "refused"     // the program could not be confined; what could not be set follows
	late        fact = "late"        // the program was not started, since its time was over or the start was given up
	unsafe      fact = "unsafe"      // the program was not started, since it could not always be killed
	exited      fact = "exited"      // the program ended; n is its wait status
	expired     fact = "expired"     // the program's time is over
	overran     fact = "overran"     // from a guard, which does not know of a stop: the same
	lost        fact = "lost"        // from a guard: the supervisor is gone, and what it left is killed
	killing     fact = "killing"     // the program is being killed, and all that it has started
	ended       fact = "ended"       // no process of the program lives; n is when that was found, on CLOCK_BOOTTIME
)

func (r report) tell(to io.Writer) { _, _ = fmt.Fprintf(to, "%s %d %s\n", r.what, r.n, r.thing) } // nobody may listen

func readReport(from *bufio.Reader) (report, error) {
	line, err := from.ReadString('\n')
	if err != nil {
		return report{}, err
	}
	name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	number, thing, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	return report{fact(name), n, thing}, err
}

// errnoOf returns the errno in err; 0 if there is none.
func errnoOf(err error) int {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return int(errno)
	}
	return 0
}

// failureOf is the report of a start that failed with err.
func failureOf(err error) report {
	var no *ConfineError
	switch {
	case errors.Is(err, ErrCannotKill):
		return report{what: unsafe}
	case errors.As(err, &no):
		return report{refused, int64(errnoOf(err)), no.What}
	}
	return report{what: failed, n: int64(errnoOf(err))}
}

// unstarted says whether the report means that the program never began. After failed without an
// errno, it may have begun.
func (r report) unstarted() bool {
	return r.what == late || r.what == unsafe || r.what == refused || r.what == failed && r.n != 0
}
