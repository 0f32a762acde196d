package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// serve runs a cluster until ctx or standard input ends, and prints the ready
// line to stdout. When it returns, the servers have stopped and nothing
// temporary is left.
func serve(ctx context.Context, o options, stdout io.Writer, stderr *os.File) (err error) {
	begin := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.stdin.watches(os.Stdin) {
		whenClosed(os.Stdin, func() {
			// Say why: the user may have given a pipe unintentionally.
			fmt.Fprintln(stderr, "devcluster: standard input closed, ending (--exit-on-stdin-close=false keeps it running)")
			cancel()
		})
	}

	dir, err := openDataDir(o.dataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()

	var file string
	if !o.verbose {
		file = dir.file(logFile)
	}
	logs, err := openLogging(file, stderr, func(l *logging) {
		fmt.Fprintf(stderr, "devcluster: fatal error in kube-apiserver or etcd%s\n", l.lastErrors())
		_ = dir.Close()
		os.Exit(1)
	})
	if err != nil {
		return err
	}

	c, err := startCluster(ctx, o, dir, logs)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // ctx or standard input ended before the server was ready
	case err != nil:
		return fmt.Errorf("%w%s", err, logs.lastErrors())
	}
	defer c.stop()

	_, err = fmt.Fprintf(stdout, "devcluster ready: %s kubeconfig=%s version=%s in %.1fs\n",
		c.url, c.kubeconfig, c.version, time.Since(begin).Seconds())
	if err != nil {
		return fmt.Errorf("print the ready line: %w", err)
	}
	if err := c.wait(ctx); err != nil {
		return fmt.Errorf("%w%s", err, logs.lastErrors())
	}
	return nil
}
