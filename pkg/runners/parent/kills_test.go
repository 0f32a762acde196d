//go:build linux

package parent_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// trials is how often each trial is repeated.
func trials() int {
	if os.Getenv("PRIMACY_LONG") != "" {
		return 20
	}
	return 1
}

// TestKillsInOneMoment kills parent, member, guard, supervisor and program in one moment, in each combination. The
// program has helpers that fork, detach themselves, become subreapers, stop, and live in and enter a process namespace.
// No parent proves anything while one of them lives. Where the parent is killed too, none lives when the term is over.
// PRIMACY_LONG=1 tries each combination 20 times, half of them while other processes want all processors.
func TestKillsInOneMoment(t *testing.T) {
	for n := range trials() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if n%2 == 1 {
				hogs(t, 6)
			}
			t.Run("of", func(t *testing.T) {
				for of := theParent; of < everything; of++ {
					t.Run(of.String(), func(t *testing.T) {
						t.Parallel()
						f := newFamily(t, of)
						f.strike()
						for _, wrong := range f.verdict() {
							t.Error(wrong)
						}
					})
				}
			})
		})
	}
}

// TestAParentDiesWhileItKills kills the member and more of its processes, and the parent a moment later, while that kills
// what is left. Nothing may live when the term is over. If the parent had a proof before it died, nothing lived then.
func TestAParentDiesWhileItKills(t *testing.T) {
	for n := range 2 * trials() {
		for _, of := range []parts{theMember, theMember | theGuard, theMember | theSupervisor, theMember | theProgram} {
			t.Run(fmt.Sprint(of, n), func(t *testing.T) {
				t.Parallel()
				f := newFamily(t, of)
				above := newJudge(t, f.ids[theParent])
				f.strike()
				above.aliveAt(clock.Boottime().Now().Add(time.Duration(n%8) * time.Millisecond))
				above.kill([]int{f.ids[theParent]})
				f.status()
				if alive := f.text("proved"); alive != "" {
					t.Errorf("%s lived at the proof", alive)
				}
				if alive := f.judge.aliveAt(f.deadline); len(alive) > 0 {
					t.Errorf("%v lived when the term was over", alive)
				}
			})
		}
	}
}

// TestAGuardKillsItsSupervisorLast checks that a guard whose member has died leaves its supervisor alive as long as
// anything below that lives: if the guard is killed in the next moment, the supervisor goes on. Here nobody else can kill.
// The member is not below the supervisor: on a busy machine it takes long to die, and the guard is quicker.
func TestAGuardKillsItsSupervisorLast(t *testing.T) {
	for n := range 3 * trials() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			// The first process of a namespace ends only once others have reaped what was in it, and here nobody does.
			f := newFamily(t, theMember, plainVariable+"=1")
			above := newJudge(t, f.ids[theParent])
			above.freeze([]int{f.ids[theParent]})
			supervisor := newJudge(t, f.ids[theSupervisor])
			supervisor.freeze([]int{f.ids[theSupervisor]})
			f.strike()
			supervisor.aliveAt(f.deadline)
			alive := slices.DeleteFunc(f.judge.alive(), func(pid int) bool { return pid == f.ids[theGuard] || pid == f.ids[theMember] })
			if len(alive) > 0 {
				t.Errorf("%v lived when the supervisor was dead", alive)
			}
			if err := unix.Kill(f.ids[theParent], unix.SIGCONT); err != nil {
				t.Fatal(err)
			}
			for _, wrong := range f.verdict() {
				t.Error(wrong)
			}
		})
	}
}

// TestTheJudgeSeesWhatLives plants a process that no parent can know of, and checks that the judge finds it alive: at a
// proof, and when a term is over.
func TestTheJudgeSeesWhatLives(t *testing.T) {
	for of, want := range map[parts][]string{
		theMember:             {"[%d] lived at the proof", "the parent itself found alive: %d"},
		theParent | theMember: {"[%d] lived when the term was over"},
	} {
		t.Run(of.String(), func(t *testing.T) {
			t.Parallel()
			planted := exec.Command("/bin/cat")
			in, err := planted.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := planted.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = in.Close()
				_ = planted.Wait()
			})
			pid := planted.Process.Pid
			f := newFamily(t, of)
			for held, fd := range newJudge(t, pid).held {
				f.judge.held[held] = fd
			}
			f.tell([]int{pid})
			f.deadline = clock.Boottime().Now().Add(time.Second) // nothing kills what is planted
			f.strike()
			said := f.verdict()
			for i := range want {
				want[i] = fmt.Sprintf(want[i], pid)
			}
			if !slices.Equal(said, want) {
				t.Errorf("the judge says %q, want %q", said, want)
			}
		})
	}
}

// TestWhatIsInAForeignNamespaceIsNotProved checks the limit of a proof that docs/death.md names: what a process starts in
// a process namespace that is not below the member. Its own orphans go to the first process of that namespace. All else
// is dead at the proof.
func TestWhatIsInAForeignNamespaceIsNotProved(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may make a process namespace")
	}
	foreign := newProgram(t, "none")
	first := exec.Command("/proc/self/exe", "plain")
	first.Env = append(os.Environ(), roleVariable+"=descendant", folderVariable+"="+foreign.folder)
	first.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = first.Process.Kill()
		_ = first.Wait()
	})
	foreign.awaitText("the first process of a namespace", func() bool { return foreign.text("descendants") != "" })
	var f *family
	var said []string
	var alive []int
	for range 5 { // the parent may be quick enough to kill that process before it has lost its own parent
		f = newFamily(t, theMember, fmt.Sprintf("%s=%d", foreignVariable, first.Process.Pid))
		f.strike()
		said, alive = f.verdict(), f.judge.alive()
		if len(alive) > 0 {
			break
		}
	}
	if len(alive) == 0 {
		t.Skipf("the parent was quick enough each time; the judge says %q", said)
	}
	if len(alive) != 1 || len(said) != 2 || said[0] != fmt.Sprintf("%v lived at the proof", alive) {
		t.Fatalf("%v live; the judge says %q, want one process, and that it lived", alive, said)
	}
	if err := first.Process.Kill(); err != nil { // it dies with its namespace
		t.Fatal(err)
	}
	if alive := f.judge.aliveAt(f.deadline); len(alive) > 0 {
		t.Errorf("%v outlive the namespace", alive)
	}
}

// TestALeakedLineHoldsNoProofUp checks that a parent proves the death of a member whose descendants have all its
// descriptors, the member's end of their line too.
func TestALeakedLineHoldsNoProofUp(t *testing.T) {
	p := newProgram(t, "leaks").start()
	p.awaitText("a proof", func() bool { return p.text("how") != "" })
	if got := p.status(); got != -int(unix.SIGKILL) {
		t.Errorf("exit status %d\n%s", got, p.out.String())
	}
	p.wants("proved", "")
	if n := strings.Count(p.text("descendants"), "\n") + 1; n < begotten || p.text("leaked") == "0" {
		t.Errorf("%d descendants, %s leaked", n, p.text("leaked"))
	}
}

// TestALineInStrangeHandsHoldsNobodyUp checks that a parent goes on after its member's death even if a process that is not
// below it holds the member's end of their line, and that it has heard what the member said.
func TestALineInStrangeHandsHoldsNobodyUp(t *testing.T) {
	p := newProgram(t, "waits").start()
	p.await("ready", "")
	member := newJudge(t, p.member())
	stolen := steal(t, p.member(), member.held[p.member()])
	if _, err := stolen.WriteString(`{"notes":{"where":"here"}}` + "\n"); err != nil {
		t.Fatal(err)
	}
	member.kill([]int{p.member()})
	p.awaitText("a proof", func() bool { return p.text("note") != "" })
	p.wants("note", "here")
	p.status()
}

// steal takes the only socket of another process.
func steal(t *testing.T, pid, pidfd int) *os.File {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range open {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, d.Name())); err != nil || !strings.HasPrefix(to, "socket:") {
			continue
		}
		fd, err := unix.PidfdGetfd(pidfd, number(t, d.Name()), 0)
		if err != nil {
			t.Skip("this user may not take descriptors of others: ", err)
		}
		f := os.NewFile(uintptr(fd), "stolen") // #nosec G115 -- a descriptor
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	t.Fatal("no socket")
	return nil
}
