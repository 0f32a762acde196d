package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	parentproc "github.com/primacy-dev/primacy/pkg/runners/parent"
)

// member is one member process.
type member struct {
	name, revision string
	process        *exec.Cmd
	log            *os.File
	ended          chan struct{}
}

// configFile writes a configuration for the members of a group, in which every
// election has the given lock block.
func (b *bench) configFile(name, group, lock string, elections []string) (string, error) {
	var y strings.Builder
	fmt.Fprintf(&y, "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: %s\nnamespace: %s\n", group, namespace)
	fmt.Fprintf(&y, "member: {revision: stable}\ndefaultRevision:\n  configMap: {name: %s, key: default}\n", preferences)
	fmt.Fprintf(&y, "timing: {profile: %s, preemptDelay: 0s, minHold: 0s}\nelections:\n", b.options.profile)
	for _, e := range elections {
		fmt.Fprintf(&y, "- name: %s\n  bootstrap: immediate\n  lock: %s\n  runners:\n  - name: work\n    exec: {command: [%q, --dir, %q, --failing, %q]}\n", e, lock, b.options.stopwatch, b.spans, b.failing)
	}
	file := filepath.Join(b.dir, name)
	if err := os.WriteFile(file, []byte(y.String()), 0o600); err != nil {
		return "", fmt.Errorf("configuration: %w", err)
	}
	return file, nil
}

// join starts a member process; it ends with the bench.
func (b *bench) join(name, revision string) (*member, error) {
	m := &member{name: name, revision: revision, ended: make(chan struct{})}
	log, err := os.OpenFile(filepath.Join(b.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", name, err)
	}
	m.log = log
	args := append([]string{"run", "--config", b.config, "--kubeconfig", b.cluster.kubeconfig, "--name", name, "--revision", revision}, b.flags...)
	m.process = exec.Command(b.program, args...)
	m.process.Env = append(os.Environ(), b.env...)
	m.process.Stdout, m.process.Stderr = log, log
	m.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	if err := m.process.Start(); err != nil {
		return nil, fmt.Errorf("member %s: %w", name, err)
	}
	go func() { // joined by receiving from ended: leave, kill or close
		_ = m.process.Wait()
		close(m.ended)
	}()
	b.members = append(b.members, m)
	return m, nil
}

// endMembers ends all members.
func (b *bench) endMembers() {
	for _, m := range b.members {
		select {
		case <-m.ended:
		default:
			_ = m.process.Process.Signal(syscall.SIGTERM) // it may just have ended
		}
	}
	for _, m := range b.members {
		select {
		case <-m.ended:
		case <-time.After(30 * time.Second):
			_ = syscall.Kill(-m.process.Process.Pid, syscall.SIGKILL) // as above, with its parent
			<-m.ended
		}
	}
	b.members = nil
}

// target says which processes a kill strikes. A member's parent can prove the member's death if it lives.
type target int

const (
	memberAlone target = iota + 1
	withParent
)

// member is the process id of the member itself.
func (m *member) member() int { return parentproc.MemberOf(m.process.Process.Pid) }

// kill kills the member without warning, and waits for the end of its parent.
func (m *member) kill(ctx context.Context, t target) error {
	above := m.process.Process.Pid
	below := m.member()
	if below == above {
		return fmt.Errorf("member %s: it runs without a parent", m.name)
	}
	if t == withParent {
		_ = syscall.Kill(above, syscall.SIGSTOP) // so that it proves nothing in between
	}
	if err := syscall.Kill(below, syscall.SIGKILL); err != nil {
		return fmt.Errorf("member %s: %w", m.name, err)
	}
	if t == withParent {
		return m.signal(ctx, syscall.SIGKILL)
	}
	return m.wait(ctx)
}

// signal sends the process a signal and waits for its end.
func (m *member) signal(ctx context.Context, s syscall.Signal) error {
	if err := m.process.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("member %s: %w", m.name, err)
	}
	return m.wait(ctx)
}

func (m *member) wait(ctx context.Context) error {
	select {
	case <-m.ended:
		return m.log.Close()
	case <-ctx.Done():
		return fmt.Errorf("member %s does not end: %w", m.name, ctx.Err())
	}
}

// tails are the ends of the members' logs, for a run that failed.
func (b *bench) tails() string {
	var all strings.Builder
	for _, m := range b.members {
		data, err := os.ReadFile(m.log.Name())
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(&all, "%s:\n%s\n", m.name, data[max(0, len(data)-2000):])
	}
	return all.String()
}
