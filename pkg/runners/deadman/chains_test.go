//go:build linux

package deadman

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// chain starts itself again in a session of its own before it ends, so that no process lives long and nobody can list all
// of them. It ends by itself.
const chain = `#!/bin/sh
[ "$(date +%s)" -lt "$1" ] || exit 0
setsid "$0" "$1" &
`

// TestAFrozenSupervisorLeavesNoChains checks that a guard kills a program which starts processes faster than they can be
// listed, although its frozen supervisor reaps none of them: the dead would hide the living.
func TestAFrozenSupervisorLeavesNoChains(t *testing.T) {
	disowned(t)
	script := filepath.Join(t.TempDir(), "chain")
	if err := os.WriteFile(script, []byte(chain), 0o700); err != nil { // #nosec G306 -- it is a program
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	// A frozen supervisor reaps nobody, so each dead process keeps its id until the end: in a minute there would be none left
	// on this machine.
	end := strconv.FormatInt(time.Now().Add(12*time.Second).Unix(), 10)
	kill := clock.Boottime().Now().Add(4 * time.Second)
	p, err := Start(t.Context(), Program{
		Path: "/bin/sh", Args: []string{"sh", "-c", `for i in 1 2 3 4 5 6 7 8; do "$0" "$1" & done; wait; sleep 300`, script, end},
		Files: []*os.File{null, null, null}, Env: []string{"PATH=/usr/bin:/bin"},
	}, kill)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(p.Supervisor(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.Wait()
	children, err := ChildrenOf(p.Guard())
	if err == nil && len(children) > 0 {
		t.Errorf("%d processes live below the guard", len(children))
	}
	if late := p.Ended().Sub(kill); late > 6*time.Second { // 8 to 15 s if each look takes longer than a process lives
		t.Errorf("the last process died %v after the kill", late)
	} else {
		t.Logf("the last process died %v after the kill", late)
	}
}
