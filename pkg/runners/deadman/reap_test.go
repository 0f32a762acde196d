//go:build linux

package deadman

import (
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestInheritedDeadAreReaped checks that a process that a child of ours left behind does not stay a zombie, and that a dead
// child of ours is left to whoever waits for it.
func TestInheritedDeadAreReaped(t *testing.T) {
	if err := Adopt(); err != nil {
		t.Fatal(err)
	}
	ours := exec.Command("/bin/true")
	if err := ours.Start(); err != nil {
		t.Fatal(err)
	}
	dead := []int{ours.Process.Pid}
	for _, line := range []string{"sleep 0 & echo $!", "setsid sleep 0 & echo $!"} {
		text, err := exec.Command("/bin/sh", "-c", line).Output()
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		dead = append(dead, pid)
	}
	for _, pid := range dead {
		for alive(pid) { // it is ending
			runtime.Gosched()
		}
	}
	reapInherited()
	for _, pid := range dead[1:] {
		if _, err := stateOf(pid); err == nil {
			t.Errorf("process %d stays a zombie", pid)
		}
	}
	if err := ours.Wait(); err != nil {
		t.Errorf("nobody can wait for a child of ours: %v", err)
	}
}
