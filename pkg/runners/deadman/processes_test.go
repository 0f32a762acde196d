//go:build linux

package deadman

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func stat(name, state string, group, threads int) string {
	return fmt.Sprintf("17 (%s) %s 1 %d 5 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 %d 0 99 1000 10 184", name, state, group, threads)
}

func TestParseStat(t *testing.T) {
	for text, want := range map[string]bool{
		stat("sh", "S", 17, 1):                 false,
		stat("sh", "D", 17, 1):                 false,
		stat("sh", "T", 17, 1):                 false,
		stat(") Z 1 2 (", "R", 17, 4):          false,
		stat("sh", "Z", 17, 1):                 true,
		stat("sh", "X", 17, 0):                 true,
		stat("first thread ended", "Z", 17, 2): false,
	} {
		got, err := parseStat([]byte(text))
		if err != nil || got.zombie() != want {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "17 (sh) S 1", strings.Replace(stat("sh", "S", 17, 1), " 20 0 1 ", " 20 0 x ", 1)} {
		if _, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestEmptySeesTheLivingOnly(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "sleep 60 & echo $!; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	group := cmd.Process.Pid
	var second int
	if _, err := fmt.Fscan(out, &second); err != nil {
		t.Fatal(err)
	}
	if empty(group) {
		t.Error("nobody is seen where two live")
	}
	if err := syscall.Kill(group, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = unix.Waitid(unix.P_PID, group, nil, unix.WEXITED|unix.WNOWAIT, nil) // a zombie now, not reaped yet
	if alive(group) || !alive(second) || empty(group) {
		t.Errorf("beside the zombie %d there lives %d: alive %v, %v", group, second, alive(group), alive(second))
	}
	if err := syscall.Kill(-group, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for alive(second) {
		runtime.Gosched()
	}
	if !empty(group) {
		t.Error("somebody is seen where a zombie is")
	}
	_ = cmd.Wait()
	if !empty(group) {
		t.Error("somebody is seen where nobody is")
	}
}

func TestSeeProcesses(t *testing.T) {
	if err := SeeProcesses(); err != nil {
		t.Error(err)
	}
	if empty(syscall.Getpgrp()) {
		t.Error("our own group is empty, though we are in it")
	}
}

// TestChildren checks that children lists a child that hides itself, and a process that became ours.
func TestChildren(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids, err := Children()
	if err != nil || !slices.Contains(pids, cmd.Process.Pid) {
		t.Errorf("our children are %v (%v), which lacks %d", pids, err, cmd.Process.Pid)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if pids, err := Children(); err != nil || slices.Contains(pids, cmd.Process.Pid) {
		t.Errorf("our children are %v (%v), and %d is none any more", pids, err, cmd.Process.Pid)
	}
}
