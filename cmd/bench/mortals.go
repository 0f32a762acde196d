package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/cmd/bench/death"
	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// mortals are members that die in one way, in a group and folders of their own. They are the program mortal, which is
// primacy with functions of the bench.
type mortals struct {
	*bench
	way       death.Way
	guard     guard
	elections []string
	notes     string
}

// guard says whether members have parents.
type guard string

const (
	guarded   guard = "--guard=true"
	unguarded guard = "--guard=false"
)

// mortals makes a group that has n elections, each with the given runners (YAML, one line each).
func (b *bench) mortals(name string, way death.Way, g guard, n int, runners func(i int) []string) (*mortals, error) {
	sub := *b
	m := &mortals{bench: &sub, way: way, guard: g, notes: filepath.Join(b.dir, name+"-notes")}
	sub.members, sub.spans, sub.config = nil, filepath.Join(b.dir, name+"-spans"), filepath.Join(b.dir, name+".yaml")
	for _, dir := range []string{sub.spans, m.notes} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, fmt.Errorf("workers' folder: %w", err)
		}
	}
	sub.program, sub.flags = b.options.mortal, []string{string(g)}
	sub.env = []string{death.Variable + "=" + string(way), span.NotesVariable + "=" + m.notes}
	var y strings.Builder
	fmt.Fprintf(&y, "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: %s\nnamespace: %s\nmember: {revision: stable}\n", name, namespace)
	grace := ""
	if way == death.Stuck {
		grace = ", stopGrace: 500ms"
	}
	fmt.Fprintf(&y, "timing: {profile: %s%s}\nelections:\n", b.options.profile, grace)
	for i := range n {
		e := fmt.Sprintf("%s-%04d", name, i)
		m.elections = append(m.elections, e)
		fmt.Fprintf(&y, "- name: %s\n  bootstrap: immediate\n  runners:\n", e)
		for k, r := range runners(i) {
			fmt.Fprintf(&y, "  - name: r%d\n    %s\n", k, r)
		}
	}
	if err := os.WriteFile(sub.config, []byte(y.String()), 0o600); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return m, nil
}

// stopwatch is a runner that is a stopwatch; function is one that is a function of mortal.
func (b *bench) stopwatch(name string) string {
	return fmt.Sprintf("exec: {command: [%q, --dir, %q]}", b.options.stopwatch, filepath.Join(b.dir, name+"-spans"))
}

func function(kind string) string { return fmt.Sprintf("func: {kind: %s}", kind) }

// joinAll starts the members one after the other. The first leads all elections before the second starts.
func (m *mortals) joinAll(ctx context.Context, n int) error {
	for i := range n {
		began := m.clock.Now()
		if _, err := m.join(fmt.Sprintf("%s-%d", filepath.Base(m.notes), i), "stable"); err != nil {
			return err
		}
		if i > 0 {
			continue
		}
		if _, err := m.started(ctx, began, m.elections); err != nil {
			return err
		}
	}
	return nil
}

// started is until, for runners of both kinds.
func (m *mortals) started(ctx context.Context, since record.Instant, elections []string) (sample, error) {
	return m.untilIn(ctx, "a start or death", since, elections, m.spansOfAll)
}

// spansOfAll are the records of stopwatches and functions.
func (m *mortals) spansOfAll() ([]span.Span, error) {
	spans, err := span.Read(m.spans)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(m.notes, "*"+span.PulseSuffix))
	if err != nil {
		return nil, err
	}
	for _, pulse := range files {
		until, err := span.ReadPulse(pulse)
		if err != nil {
			return nil, err
		}
		of, err := span.ReadNotes(strings.TrimSuffix(pulse, span.PulseSuffix), until)
		if errors.Is(err, os.ErrNotExist) {
			continue // it has just begun
		}
		if err != nil {
			return nil, err
		}
		pid, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(pulse), span.PulseSuffix))
		if err != nil {
			return nil, fmt.Errorf("pulse %s: %w", pulse, err)
		}
		for _, s := range of {
			s.PID = pid
			spans = append(spans, s)
		}
	}
	return spans, nil
}

// die ends the member in the way of its group, and returns when it began to die. In ways that take the member some
// time, that is when the bench saw that it was dead.
func (m *mortals) die(ctx context.Context, of *member) (since record.Instant, err error) {
	above := of.process.Process.Pid
	pid := of.member()
	if (pid == above) == (m.guard == guarded) {
		return 0, fmt.Errorf("member %s: it must run with %s, but process %d is not its own", of.name, m.guard, above)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, fmt.Errorf("member %s: %w", of.name, err)
	}
	defer func() { _ = unix.Close(fd) }()
	if m.way == death.Memory {
		free, err := starve(pid)
		if err != nil {
			return 0, err
		}
		defer free()
	}
	since = m.clock.Now()
	sign := death.Sign
	if m.way == death.Killed {
		sign = unix.SIGKILL
	}
	if err := unix.Kill(pid, sign); err != nil {
		return 0, fmt.Errorf("member %s: %w", of.name, err)
	}
	if m.way == death.Stuck {
		// The work must have had the sign first, and both are signals to one process, which may take them up in any order.
		if err := pause(ctx, apart); err != nil {
			return 0, err
		}
		if err := unix.Kill(pid, unix.SIGTERM); err != nil {
			return 0, fmt.Errorf("member %s: %w", of.name, err)
		}
	}
	seen, err := m.gone(fd)
	if err != nil {
		return 0, fmt.Errorf("member %s: %w", of.name, err)
	}
	switch m.way {
	case death.Stuck, death.Memory, death.AddressSpace:
		since = seen
	}
	return since, nil
}

// buried waits until the parent of a dead member has ended as well, if there is one. The parent ends as the member did, so
// its status shows that the member died in the way of the group.
func (m *mortals) buried(ctx context.Context, of *member) error {
	if err := of.wait(ctx); err != nil {
		return err
	}
	is, want := of.process.ProcessState.String(), map[death.Way]string{
		death.Killed: "signal: killed", death.Memory: "signal: killed", death.Panic: "exit status 2", death.AddressSpace: "exit status 2",
		death.Exit: "exit status 3", death.Stuck: "exit status 70",
	}[m.way]
	if is != want {
		return fmt.Errorf("member %s: it ended with %q, want %q", of.name, is, want)
	}
	return nil
}

// gone waits until a process is dead, and says since when at the latest.
func (m *mortals) gone(pidfd int) (record.Instant, error) {
	most := int(time.Minute / time.Millisecond)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, most) // #nosec G115 -- a descriptor
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case n == 0:
			return 0, errors.New("it lives on")
		default:
			return m.clock.Now(), nil
		}
	}
}

// ways are the ways to die that this machine can show.
func ways() []death.Way {
	all := []death.Way{death.Killed, death.Panic, death.Exit, death.Stuck}
	if hasGroups() {
		return append(all, death.Memory)
	}
	return append(all, death.AddressSpace)
}
