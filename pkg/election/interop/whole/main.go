//go:build linux

// Command whole is primacy, the whole program, with work that reports when it begins and ends:
// a function named work, and the program "whole work" for exec runners. Tests build it twice, with
// the source of today and with that of an earlier commit, so it uses only what both have.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/primacy-dev/primacy/cmd/primacy/app"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/interop/elector"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// listener names the environment variable with the Unix socket that the work reports to.
const listener = "WORK_LISTENER"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "work" {
		if err := program(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	app.Main(app.Func("work", func(ctx context.Context, t election.Term) error {
		return work(ctx, t.Election, t.Identity, t.Token)
	}))
}

// program is the work of an exec runner.
func program() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	token, err := strconv.ParseUint(os.Getenv("PRIMACY_TOKEN"), 10, 64)
	if err != nil {
		return fmt.Errorf("token: %w", err)
	}
	return work(ctx, os.Getenv("PRIMACY_ELECTION"), os.Getenv("PRIMACY_IDENTITY"), record.Token(token))
}

// work goes on until ctx ends. It has a connection of its own, which the kernel closes when
// the process is killed, so the listener learns of every end.
func work(ctx context.Context, lock, identity string, token record.Token) (err error) {
	conn, err := net.Dial("unix", os.Getenv(listener))
	if err != nil {
		return fmt.Errorf("work: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	now, say := clock.Boottime().Now, json.NewEncoder(conn).Encode
	if err := say(elector.Event{Lock: lock, Kind: elector.Begin, Holder: identity, Token: token, At: now()}); err != nil {
		return fmt.Errorf("work: %w", err)
	}
	<-ctx.Done()
	if err := say(elector.Event{Lock: lock, Kind: elector.End, Holder: identity, Token: token, At: now()}); err != nil {
		return fmt.Errorf("work: %w", err)
	}
	return nil
}
