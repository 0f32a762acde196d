//go:build linux

package burial_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
	"github.com/primacy-dev/primacy/pkg/runners/parent/burial"
)

// roleVariable says what hangs in the parent of this test binary, and endVariable how its member ends.
const (
	roleVariable = "BURIAL_TEST_ROLE"
	endVariable  = "BURIAL_TEST_END"
)

// died is what a member says before it ends.
const died = "the member ends now"

// identity is that of the member.
const identity = "m_00000001"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(live(plans[role]))
	}
	goleak.VerifyTestMain(m)
}

// live is a program with a parent: both processes come here.
func live(p burial.Plan) int {
	p.Cgroup = cgroup.Never
	if p.Log == nil {
		p.Log = func(*parent.Dead) *zap.Logger { return zap.NewExample() }
	}
	guard, err := burial.Start(p)
	if err != nil {
		fmt.Println(err)
		return 99
	}
	for _, name := range []string{"primacy-edge-m-1", "primacy-edge-m-0"} { // the parent ends the last one first
		if err := guard.Expect(name, identity); err != nil {
			fmt.Println(err)
			return 99
		}
	}
	fmt.Println(died)
	if os.Getenv(endVariable) == "killed" {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	return 0
}

// plans are those of parents in which something goes wrong.
var plans = map[string]burial.Plan{
	"a read":             {Sessions: func(*parent.Dead) (lock.Store, error) { return deaf{}, nil }},
	"the store":          {Sessions: func(*parent.Dead) (lock.Store, error) { hang(); return nil, nil }},
	"the log":            {Sessions: broken, Log: func(*parent.Dead) *zap.Logger { hang(); return nil }},
	"a last word":        {Sessions: broken, Log: hangs},
	"a panic":            {Sessions: func(*parent.Dead) (lock.Store, error) { panic("planted") }},
	"nothing":            {Sessions: works},
	"the log alone":      {Sessions: works, Log: func(*parent.Dead) *zap.Logger { hang(); return nil }},
	"no log":             {Sessions: works, Log: func(*parent.Dead) *zap.Logger { return nil }},
	"a log that panics":  {Sessions: works, Log: func(*parent.Dead) *zap.Logger { panic("planted") }},
	"the first log line": {Sessions: works, Log: hangs},
	"the last read": {Sessions: func(*parent.Dead) (lock.Store, error) {
		return halfDeaf{}, nil
	}},
}

func works(*parent.Dead) (lock.Store, error) { return told{}, nil }

// hangs makes a log that takes no line.
func hangs(*parent.Dead) *zap.Logger {
	return zap.NewExample(zap.Hooks(func(zapcore.Entry) error { hang(); return nil }))
}

// told is a store that has the sessions of the member, and says what is written.
type told struct{ lock.Store }

func (told) Get(_ context.Context, name string) (lock.Entry, error) {
	return lock.Entry{Name: name, Record: &record.Record{
		Holder: identity, Duration: time.Minute, Mark: &record.Mark{Identity: identity, Beat: 7, Duration: time.Minute, Renewal: record.RenewalRecord},
		Member: &record.Member{Identity: identity, Proofs: []record.Proof{record.ProofParent}},
	}}, nil
}

func (told) Put(_ context.Context, name string, r record.Record, _ record.Version) (record.Version, error) {
	fmt.Printf("written: %s, held by %q\n", name, r.Holder)
	return record.Version{}, nil
}

// halfDeaf is such a store, but it answers nothing about the member's first session.
type halfDeaf struct{ told }

func (h halfDeaf) Get(ctx context.Context, name string) (lock.Entry, error) {
	if name == "primacy-edge-m-1" {
		hang()
	}
	return h.told.Get(ctx, name)
}

func broken(*parent.Dead) (lock.Store, error) { return nil, errors.New("planted") }

// deaf is a store with a Get that ignores its context.
type deaf struct{ lock.Store }

func (deaf) Get(context.Context, string) (lock.Entry, error) { hang(); return lock.Entry{}, nil }

// hang does not return: no signal that this process catches ends it.
func hang() {
	for {
		_ = unix.Pause()
	}
}

// TestAParentEndsAlthough checks that a parent ends as its member did, and soon, although what it calls does not return or
// panics. It says why it gave up, unless nobody takes what it says. A log that fails keeps it from ending no session.
func TestAParentEndsAlthough(t *testing.T) {
	const (
		told  = "nobody can prove it"
		over  = "its session is over"
		first = `written: primacy-edge-m-1, held by ""`
		last  = `written: primacy-edge-m-0, held by ""`
	)
	for _, tt := range []struct {
		role, end string
		want      int
		says      []string
	}{
		{"a read", "killed", -int(unix.SIGKILL), []string{told, "end session primacy-edge-m-0"}},
		{"a read", "in order", 0, []string{told, "end session primacy-edge-m-0"}},
		{"the store", "killed", -int(unix.SIGKILL), []string{told, "open the store"}},
		{"the log", "killed", -int(unix.SIGKILL), nil},
		{"a last word", "killed", -int(unix.SIGKILL), nil},
		{"a panic", "killed", -int(unix.SIGKILL), []string{told, "planted"}},
		{"nothing", "killed", -int(unix.SIGKILL), []string{first, last, over, `"session":"primacy-edge-m-0"`, `"session":"primacy-edge-m-1"`}},
		{"the log alone", "killed", -int(unix.SIGKILL), []string{first, last}},
		{"no log", "killed", -int(unix.SIGKILL), []string{first, last}},
		{"a log that panics", "killed", -int(unix.SIGKILL), []string{first, last}},
		{"the first log line", "killed", -int(unix.SIGKILL), []string{first, last}},
		{"the last read", "killed", -int(unix.SIGKILL), []string{last, over, told, "end session primacy-edge-m-1"}},
	} {
		t.Run(tt.role+", "+tt.end, func(t *testing.T) {
			t.Parallel()
			p := exec.Command(os.Args[0])
			p.Env = append(os.Environ(), roleVariable+"="+tt.role, endVariable+"="+tt.end)
			out, err := p.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			said := bufio.NewReader(out)
			if line, err := said.ReadString('\n'); err != nil || strings.TrimSpace(line) != died {
				t.Fatalf("it says %q: %v", line, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			stop := context.AfterFunc(ctx, func() { _ = p.Process.Kill() })
			var rest bytes.Buffer
			_, _ = io.Copy(&rest, said) // until the parent has ended
			ended := stop()
			err = p.Wait()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if !ended {
				t.Fatalf("the parent has not ended; it says\n%s", rest.String())
			}
			got := p.ProcessState.ExitCode()
			if s := p.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
				got = -int(s.Signal())
			}
			if got != tt.want {
				t.Errorf("exit status %d, want %d", got, tt.want)
			}
			for _, s := range tt.says {
				if !strings.Contains(rest.String(), s) {
					t.Errorf("it does not say %q, but\n%s", s, rest.String())
				}
			}
		})
	}
}
