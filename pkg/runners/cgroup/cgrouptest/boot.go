//go:build linux

package cgrouptest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// KernelVariable names the executable of a kernel that runs as a process (User-mode Linux, linux.uml). Machines whose
// control groups are of version 1, and containers, do not let tests limit the memory of a group of version 2. Such a
// kernel has all controllers for itself.
const KernelVariable = "PRIMACY_UML"

// Boot runs the named tests of this test binary in a kernel of their own, as root and with the file system of this machine.
// It skips t without a kernel. There each of them must pass: nothing is missing, so a test that skips itself fails t.
func Boot(t *testing.T, names ...string) {
	t.Helper()
	kernel := os.Getenv(KernelVariable)
	if kernel == "" {
		t.Skipf("%s is not set (make test-trees fetches a kernel)", KernelVariable)
	}
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	init, said := filepath.Join(dir, "init"), filepath.Join(dir, "said")
	script := fmt.Sprintf(`#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t cgroup2 cgroup2 /sys/fs/cgroup
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TMPDIR=%[1]s
cd '%[2]s' && '%[3]s' -test.v -test.count=1 -test.run '^(%[4]s)$' >%[5]s 2>&1
echo "status $?" >>%[5]s
echo o >/proc/sysrq-trigger
sleep 60
`, dir, here, os.Args[0], strings.Join(names, "|"), said)
	if err := os.WriteFile(init, []byte(script), 0o755); err != nil { // #nosec G306 -- it is a program
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), bootTime)
	defer cancel()
	booted := exec.CommandContext(ctx, kernel, "rootfstype=hostfs", "rootflags=/", "rw", "mem=1024M", "con=null", "con0=fd:0,fd:1", "quiet", "init="+init) // #nosec G204 -- the test's own
	console, err := booted.CombinedOutput()
	text, readErr := os.ReadFile(said) // #nosec G304 -- the test's own
	if readErr != nil {
		t.Fatalf("the kernel did not come to the tests: %v %v\n%s", err, readErr, console)
	}
	t.Logf("\n%s", text)
	if out := string(text); !strings.HasSuffix(out, "status 0\n") || strings.Contains(out, "--- SKIP") {
		t.Error("a test failed or was skipped in the kernel of its own")
	}
	for _, name := range names {
		if !strings.Contains(string(text), "--- PASS: "+name+" (") {
			t.Errorf("%s did not pass in the kernel of its own", name)
		}
	}
}

// bootTime bounds the life of such a kernel.
const bootTime = 4 * time.Minute
