package interop_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/interop/elector"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions/static"
)

// party is an elector of client-go or a member of ours that takes part in the elections of an arena.
type party struct {
	a    *arena
	who  string
	stop func()
	// done is closed once the party is gone, with all its work.
	done chan struct{}
	// process is nil for a party in the test's own process.
	process *os.Process
}

// leave makes the party leave in good order, and returns when it has.
func (p *party) leave() {
	p.stop()
	<-p.done
}

// kill kills the party's process, and returns when it has ended.
func (p *party) kill() {
	_ = p.process.Kill() // fails only if the process has ended, which done shows
	<-p.done
}

// inside starts a party in the test's process.
func (a *arena) inside(who string, run func(ctx context.Context, say func(elector.Event)) error) *party {
	ctx, cancel := context.WithCancel(context.Background())
	p := &party{a: a, who: who, stop: cancel, done: make(chan struct{})}
	go func() { // joined by leave
		defer close(p.done)
		if err := run(ctx, func(e elector.Event) { a.heard(who, e) }); err != nil {
			a.t.Errorf("%s: %v", who, err)
		}
	}()
	a.t.Cleanup(p.leave)
	return p
}

// outside starts a party as a process, which says what it does line by line.
func (a *arena) outside(who string, options any, program string, args ...string) *party {
	a.t.Helper()
	o, err := json.Marshal(options)
	if err != nil {
		a.t.Fatal(err)
	}
	cmd := exec.Command(program, append(args, a.cluster.Kubeconfig, string(o))...)
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		a.t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	p := &party{a: a, who: who, done: make(chan struct{}), process: cmd.Process}
	p.stop = sync.OnceFunc(func() { _ = stdin.Close() })
	go func() { // joined by leave and kill
		defer close(p.done)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			var e elector.Event
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				a.t.Errorf("%s said %q: %v", who, lines.Text(), err)
				continue
			}
			a.heard(who, e)
		}
		_ = cmd.Wait() // a killed process always ends with an error
		a.died(who, now())
	}()
	a.t.Cleanup(p.leave)
	return p
}

// elector adds a real elector of client-go to all elections.
func (a *arena) elector(who string, bend func(*elector.Options)) *party {
	o := a.options(who, bend)
	return a.inside(who, func(ctx context.Context, say func(elector.Event)) error {
		return elector.Run(ctx, a.cluster.Config, o, say)
	})
}

// electorProcess is elector in a process of its own; an empty program means the client-go that this
// test is built with.
func (a *arena) electorProcess(who, program string, bend func(*elector.Options)) *party {
	a.t.Helper()
	if program == "" {
		return a.outside(who, a.options(who, bend), os.Args[0], roleElector)
	}
	return a.outside(who, a.options(who, bend), program)
}

func (a *arena) options(who string, bend func(*elector.Options)) elector.Options {
	o := theirs()
	o.Identity, o.Namespace, o.Locks, o.ReleaseOnCancel = who, a.space, a.locks, true
	if bend != nil {
		bend(&o)
	}
	return o
}

// entry is the configuration of a member of ours.
type entry struct {
	Host             string
	Space, Sessions  string
	Locks            []string
	Revision, Prefer string
	Location         record.Location
	Timing           record.Timing
	Foreign          machine.Foreigners
	Bootstrap        machine.Bootstrap
	// Slow makes work use all of its grace.
	Slow bool
}

// member adds a member of ours to all elections. If w is not nil, it stands between the member and the API
// server.
func (a *arena) member(who string, w wire, bend func(*entry)) *party {
	o := a.entry(who, bend)
	return a.inside(who, func(ctx context.Context, say func(elector.Event)) error {
		config := rest.CopyConfig(a.cluster.Config)
		if w != nil {
			config.Wrap(w.wrap)
		}
		return takePart(ctx, config, o, func(err error) {
			if !o.Slow {
				a.t.Errorf("%s: %v", who, err)
			}
			a.died(who, now()) // as its process would die
		}, say)
	})
}

// memberProcess is member in a process of its own.
func (a *arena) memberProcess(who string, bend func(*entry)) *party {
	a.t.Helper()
	return a.outside(who, a.entry(who, bend), os.Args[0], roleMember)
}

func (a *arena) entry(who string, bend func(*entry)) entry {
	o := entry{
		Host: who, Space: a.space, Sessions: a.sessions, Locks: a.locks,
		Revision: "blue", Location: record.Local, Timing: ours(),
		Foreign: machine.Foreigners{Sharing: machine.SharedWithClientGo},
	}
	if bend != nil {
		bend(&o)
	}
	return o
}

// takePart is a member's life: it returns when ctx has ended and everything is released.
func takePart(ctx context.Context, config *rest.Config, o entry, abort func(error), say func(elector.Event)) error {
	client, err := lease.NewClient(config)
	if err != nil {
		return err
	}
	cfg := election.Config{
		Group: "edge", Host: o.Host, Member: election.Member{Revision: o.Revision, Location: o.Location},
		Locks: lease.In(client, o.Sessions), Timing: o.Timing, Preferences: static.Revision(o.Prefer),
	}
	if abort != nil {
		cfg.Abort = abort
	}
	m, err := election.NewManager(cfg)
	if err != nil {
		return err
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	locks := cfg.Locks
	if o.Sessions != o.Space {
		locks = lease.Shared(client, o.Space)
	}
	for _, l := range o.Locks {
		spec := election.Spec{Name: l, Locks: locks, Foreign: o.Foreign, Bootstrap: o.Bootstrap}
		status, err := m.Add(spec, work(o, say))
		if err != nil {
			return err
		}
		seen := status.Watch(context.Background())
		watching.Go(func() { // until Run has returned
			for t := range seen {
				say(elector.Event{Lock: l, Kind: elector.Sees, Holder: t.Leader.Identity, At: now()})
			}
		})
	}
	return m.Run(ctx)
}

// work is a runner that tells when it began and ended.
func work(o entry, say func(elector.Event)) election.Runner {
	return election.RunnerFunc(func(ctx context.Context, term election.Term) error {
		say(elector.Event{Lock: term.Election, Kind: elector.Begin, Token: term.Token, At: now()})
		<-ctx.Done()
		stop, _ := election.StopOf(ctx)
		if o.Slow {
			spare := o.Timing.StopGrace / 4
			if long {
				spare = time.Second
			}
			<-time.After(stop.By.Add(-spare).Sub(now()))
		}
		say(elector.Event{Lock: term.Election, Kind: elector.End, At: now(), Reason: stop.Reason})
		return nil
	})
}

// wire wraps a member's connection to the API server.
type wire interface {
	wrap(http.RoundTripper) http.RoundTripper
}

// cuttable is a wire that can be cut: then nothing passes any more, and requests under way
// break off.
type cuttable struct {
	next http.RoundTripper
	ctx  context.Context
	cut  context.CancelFunc
}

func newCuttable() *cuttable {
	c := &cuttable{}
	c.ctx, c.cut = context.WithCancel(context.Background())
	return c
}

func (c *cuttable) wrap(next http.RoundTripper) http.RoundTripper {
	c.next = next
	return c
}

// RoundTrip implements http.RoundTripper.
func (c *cuttable) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.ctx.Err() != nil {
		<-req.Context().Done() // a request into the void times out
		return nil, req.Context().Err()
	}
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(c.ctx, cancel)
	resp, err := c.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	resp.Body = &tied{resp.Body, func() { stop(); cancel() }}
	return resp, nil
}

// tied is a response body that releases its request's context when it is closed.
type tied struct {
	io.ReadCloser
	release func()
}

func (b *tied) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// buildOld builds the program of client-go 0.26. Call it before t.Parallel, so that the build
// does not slow down other tests' timings.
func buildOld(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "clientgo026")
	cmd := exec.Command("go", "build", "-trimpath", "-modfile=clientgo026/clientgo026.mod", "-o", program, "./clientgo026")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building an elector with client-go 0.26: %v\n%s", err, out)
	}
	return program
}
