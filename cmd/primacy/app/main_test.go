package app

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/runners/cgroup/cgrouptest"
)

// TestMain lets the test binary be the program: scripts run it under its names.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){
		"primacy":         program,
		"kubectl-primacy": program,
		completer:         program,
		"library":         library,
		"waits":           waits,
		"logs":            logs,
		"ends":            ends,
	})
}

// testPatience is a variable with which a script shortens the program's waits.
const testPatience = "PRIMACY_TEST_PATIENCE"

// testSlew is a variable with which a script lets the kernel seem to slew the clock as chronyd does at most.
const testSlew = "PRIMACY_TEST_SLEW"

func program() {
	if d, err := time.ParseDuration(os.Getenv(testPatience)); err == nil {
		patience = d
	}
	if os.Getenv(testSlew) != "" {
		adjtimex = func(t *unix.Timex) (int, error) {
			*t = unix.Timex{Tick: 10833, Freq: 33 << 16}
			return 0, nil
		}
	}
	if len(os.Args) > 1 && os.Args[1] == "demo" {
		// Under the race detector os.Exit waits a second, which would use up a runner's grace.
		syscall.Exit(execute(os.Args, add(nil)))
	}
	Main()
}

type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	defer cgrouptest.Private()()
	// Scripts wait for leases most of the time, so twice as many run at a time as usual.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.M.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}
