package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// switches changes the preferred revision back and forth, and measures from just before the
// write until each election's runner of the preferred revision starts.
func (b *bench) switches(ctx context.Context, n int, elections []string) (all sample, err error) {
	for i := range n {
		to := []string{"canary", "stable"}[i%2]
		since := b.clock.Now()
		if err := b.cluster.prefer(ctx, namespace, to); err != nil {
			return nil, err
		}
		took, err := b.until(ctx, "the switch to "+to, since, elections)
		if err != nil {
			return nil, err
		}
		all = append(all, took...)
	}
	return all, nil
}

// leader waits until a member leads, since leadership may be moving. It returns
// the member that leads the most elections, and their names.
func (b *bench) leader(ctx context.Context) (best *member, most []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		for _, m := range b.members {
			select {
			case <-m.ended:
				continue
			default:
			}
			of, err := b.ofMember(m)
			if err != nil {
				return nil, nil, err
			}
			if len(of) > len(most) {
				best, most = m, of
			}
		}
		if best != nil {
			return best, most, nil
		}
		if err := pause(ctx, lookOften); err != nil {
			return nil, nil, fmt.Errorf("no member leads anything: %w", err)
		}
	}
}

// handovers stops the leading member, and measures until the runners of its
// elections start elsewhere; then the member comes back.
func (b *bench) handovers(ctx context.Context, n int) (all sample, err error) {
	for range n {
		m, elections, err := b.leader(ctx)
		if err != nil {
			return nil, err
		}
		since := b.clock.Now()
		if err := m.signal(ctx, syscall.SIGTERM); err != nil {
			return nil, err
		}
		took, err := b.until(ctx, "the handover of "+m.name, since, elections)
		if err != nil {
			return nil, err
		}
		all = append(all, took...)
		if err := b.comeBack(ctx, m); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// comeBack starts the member again and waits until the other members see it.
func (b *bench) comeBack(ctx context.Context, m *member) error {
	store, err := b.cluster.store(namespace)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	joined := make(chan struct{})
	var once sync.Once
	ended := make(chan error, 1)
	ready := make(chan struct{}, 64)
	go func() {
		ended <- store.Watch(ctx, func(e lock.Event) {
			if e.Kind == lock.Resumed {
				ready <- struct{}{}
			}
			if r := e.Entry.Record; r != nil && r.IsSession() && r.Holder != "" && strings.HasPrefix(r.Holder, m.name+"_") {
				once.Do(func() { close(joined) })
			}
		})
	}()
	<-ready
	if _, err := b.join(m.name, m.revision); err != nil {
		return err
	}
	select {
	case <-joined:
	case err := <-ended:
		return fmt.Errorf("watch: %w", errors.Join(err, errors.New("ended before the member joined")))
	}
	cancel()
	return <-ended
}

// descends says whether the process pid lives, and is the ancestor or descends from it. There are
// supervising processes between a member and its program.
func descends(pid, ancestor int) bool {
	for pid > 1 && pid != ancestor {
		pid = parent(pid)
	}
	return pid == ancestor
}

// parent is the parent of a process; zero when it has ended.
func parent(pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name, in parentheses, may contain anything, so parse after the last parenthesis.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	var ppid int
	if _, err := fmt.Sscan(fields[1], &ppid); err != nil {
		return 0
	}
	return ppid
}
