package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/component-base/version"
)

// options are the flags of the server.
type options struct {
	dataDir    string // "" for a temporary folder
	port       int    // 0 for the remembered or a free one
	kubeconfig string // "" for the one in the data folder only
	auditLog   string // "" for none
	fsync      bool
	verbose    bool
	stdin      stdinMode
}

func newCommand(stderr *os.File) *cobra.Command {
	// Cobra adopts the global flags, where Kubernetes' packages put theirs.
	pflag.CommandLine = pflag.NewFlagSet("", pflag.ContinueOnError)

	o := options{stdin: stdinAuto}
	c := &cobra.Command{
		Use:           "devcluster",
		Short:         "A Kubernetes API server with its etcd, in one process, for development and tests",
		Version:       version.Get().GitVersion,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.complete(); err != nil {
				return err
			}
			// If the parent is gone, SIGPIPE must not kill us before the clean-up.
			signal.Ignore(syscall.SIGPIPE)
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
			defer stop()
			return serve(ctx, o, os.Stdout, stderr)
		},
	}
	c.SetContext(context.Background())
	c.CompletionOptions.DisableDefaultCmd = true
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w (%s --help lists the flags)", err, c.CommandPath())
	})

	f := c.Flags()
	f.StringVar(&o.dataDir, "data-dir", "", "keep state in this folder, over restarts (default: a temporary folder)")
	f.IntVar(&o.port, "port", 0, "port on 127.0.0.1 (default: the one that the data folder remembers, else a free one)")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "write the administrator's kubeconfig here as well (default: in the data folder only)")
	f.StringVar(&o.auditLog, "audit-log", "", "append metadata of every request for leases and configmaps to this file, as JSON lines")
	f.BoolVar(&o.fsync, "fsync", true, "sync every write to disk; false is faster, and loses data if the machine stops")
	f.BoolVar(&o.verbose, "verbose", false, "log to standard error (default: to devcluster.log in the data folder)")
	f.Var(&o.stdin, "exit-on-stdin-close", "end when standard input ends: auto (if it is a pipe or a socket), true or false")

	c.AddCommand(newMintCommand())
	return c
}

// complete checks what can be checked before anything is created, and makes
// paths absolute, since the server changes its working directory.
func (o *options) complete() error {
	if o.port < 0 || o.port > 65535 {
		return fmt.Errorf("--port %d: out of range (give 1 to 65535, or leave it out for a free port)", o.port)
	}
	for flag, path := range map[string]*string{"data-dir": &o.dataDir, "kubeconfig": &o.kubeconfig, "audit-log": &o.auditLog} {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
		*path = abs
	}
	if o.kubeconfig != "" {
		if _, err := os.Stat(filepath.Dir(o.kubeconfig)); err != nil {
			return fmt.Errorf("--kubeconfig: %w (its folder must exist)", err)
		}
	}
	return nil
}
