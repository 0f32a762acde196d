package deadman

import (
	"fmt"
	"os"
	"os/exec"
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
	for text, want := range map[string]entry{
		stat("sh", "S", 17, 1):                 {parent: 1, group: 17, session: 5, alive: true},
		stat("sh", "D", 17, 1):                 {parent: 1, group: 17, session: 5, alive: true},
		stat("sh", "T", 17, 1):                 {parent: 1, group: 17, session: 5, alive: true},
		stat(") Z 1 2 (", "R", 17, 4):          {parent: 1, group: 17, session: 5, alive: true},
		stat("sh", "Z", 17, 1):                 {parent: 1, group: 17, session: 5, alive: false},
		stat("sh", "X", 17, 0):                 {parent: 1, group: 17, session: 5, alive: false},
		stat("first thread ended", "Z", 17, 2): {parent: 1, group: 17, session: 5, alive: true},
	} {
		got, err := parseStat([]byte(text))
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "17 (sh) S 1", strings.Replace(stat("sh", "S", 17, 1), " 17 5 ", " x 5 ", 1)} {
		if _, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestMembersSeesTheLivingOnly(t *testing.T) {
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
	live, err := members(group)
	slices.Sort(live)
	want := []int{group, second}
	slices.Sort(want)
	if err != nil || !slices.Equal(live, want) {
		t.Errorf("the group is %v (%v), want %v", live, err, want)
	}

	if err := syscall.Kill(group, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = unix.Waitid(unix.P_PID, group, nil, unix.WEXITED|unix.WNOWAIT, nil) // a zombie now, which is not reaped yet
	if live, err := members(group); err != nil || !slices.Equal(live, []int{second}) {
		t.Errorf("beside the zombie %d there lives %v (%v), want %d", group, live, err, second)
	}
	if err := syscall.Kill(-group, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

func TestSeeProcesses(t *testing.T) {
	if err := seeProcesses(); err != nil {
		t.Error(err)
	}
	if live, err := members(syscall.Getpgrp()); err != nil || !slices.Contains(live, os.Getpid()) {
		t.Errorf("our own group is %v (%v), which lacks us", live, err)
	}
}
