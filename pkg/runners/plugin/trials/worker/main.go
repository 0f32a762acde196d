// Command worker is the work of the trials: a program for exec, or a plugin. It and two helpers, one
// in its group and one that detached itself, write into files, again and again, that they exist, with
// the times of their own clocks.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners/plugin/sdk"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

// Variables of the worker.
const (
	spans = "TRIAL_SPANS" // the folder of the workers' files
	stage = "TRIAL_STAGE" // the pipe for events
	acts  = "TRIAL_ACT"
	gate  = "TRIAL_GATE" // a named pipe: a flood begins when somebody opens it to write
	role  = "TRIAL_ROLE" // set by the worker for its helpers
)

// every is how often a process writes down that it exists.
const every = 2 * time.Millisecond

func main() {
	switch {
	case os.Getenv(role) == "launcher":
		fail(start("detached"))
	case os.Getenv(role) != "":
		fail(exist(os.Getenv(role), os.Getenv("PRIMACY_ELECTION"), os.Getenv("PRIMACY_TOKEN"), make(chan struct{})))
	case os.Getenv("PRIMACY_PLUGIN") != "":
		sdk.Serve(sdk.Plugin{Name: "worker", Version: "1", Run: func(ctx context.Context, term election.Term, _ *sdk.Host) error {
			return work(term.Election, strconv.FormatUint(uint64(term.Token), 10), ctx.Done())
		}})
	default:
		stop := make(chan struct{})
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		go func() { // ends with the process
			<-told
			close(stop)
		}()
		fail(work(os.Getenv("PRIMACY_ELECTION"), os.Getenv("PRIMACY_TOKEN"), stop))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func work(name, token string, stop <-chan struct{}) error {
	switch os.Getenv(acts) {
	case "stubborn":
		stop = make(chan struct{})
	case "flood":
		go flood() // ends with the process
	case "alone":
		return exist("work", name, token, stop)
	}
	for _, helper := range []string{"helper", "launcher"} {
		if err := start(helper); err != nil {
			return err
		}
	}
	return exist("work", name, token, stop)
}

// start starts a helper process. A launcher ends at once, which orphans its child.
func start(as string) error {
	if err := os.Setenv(role, as); err != nil {
		return err
	}
	attributes := &os.ProcAttr{Env: os.Environ(), Files: []*os.File{nil, nil, os.Stderr}}
	if as != "helper" {
		attributes.Sys = &syscall.SysProcAttr{Setsid: true}
	}
	p, err := os.StartProcess("/proc/self/exe", os.Args[:1], attributes)
	if err != nil || as != "launcher" {
		return err
	}
	_, err = p.Wait()
	return err
}

// exist writes down again and again that this process exists, until stop is closed.
func exist(as, name, token string, stop <-chan struct{}) error {
	tell, err := runnertest.Enter(os.Getenv(stage))
	if err != nil {
		return err
	}
	defer tell.Leave()
	boot := clock.Boottime()
	f, err := span.Create(os.Getenv(spans), name, token)
	if err != nil {
		return err
	}
	if err := f.Begin(boot.Now()); err != nil {
		return err
	}
	tell.Event("%s %s %s %d %d", as, name, token, os.Getpid(), os.Getppid())
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := f.Alive(boot.Now()); err != nil {
				return err
			}
		case <-stop:
			return f.End(boot.Now())
		}
	}
}

// flood writes 100 MB a second, once the gate opens.
func flood() {
	if _, err := os.ReadFile(os.Getenv(gate)); err != nil {
		fail(err)
	}
	text := bytes.Repeat([]byte("what nobody wants to know, told again and again and again and again, without end\n"), 12500)
	for range time.Tick(10 * time.Millisecond) {
		if _, err := os.Stdout.Write(text); err != nil {
			fail(err)
		}
	}
}
