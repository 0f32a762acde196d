package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/cmd/primacy/dev"
	"github.com/primacy-dev/primacy/config"
)

func newDev(a *additions) *cobra.Command {
	var o dev.Options
	c := &cobra.Command{
		Use:   "dev",
		Short: "Run an API server and some members on this machine, to try things out",
		Long: `Run a Kubernetes API server (devcluster) and members of two revisions on this machine, each
a process of its own, and show who leads what: as a table on a terminal, as lines elsewhere.

Two thirds of the members are of the stable revision, the others are canaries. Without
--config they run an example with eight elections. The configuration is followed: change
it, and see the change taken up.

On a terminal keys do things, elsewhere lines on standard input: r [REVISION] switches the
default revision, k [MEMBER] kills a member, s [MEMBER] stops it or starts it again, q
quits.

Ctrl-C takes everything down, and leaves nothing behind; a second one does so at once.

Exit status: 0 when it was told to end, or when all was well after --for: every election
was led, by a member that none outranks, no transition was missed, and no member ended by
itself; 1 otherwise; 2 for a mistake in the command line.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return &usageError{err}
			}
			var err error
			if o.Program, err = thisProgram(); err != nil {
				return err
			}
			o.Stdin, o.Stdout = os.Stdin, os.Stdout
			o.Connect, o.Check, o.Sources = connectDev, func(made *config.Configuration) error { return a.checkDev(c.Context(), made) }, sourcesIn
			return dev.Run(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.Config, "config", "f", "", "path of the configuration (default: an example)")
	f.StringVar(&o.Devcluster, "devcluster", "", "path of the API server (default: devcluster beside this program)")
	f.IntVar(&o.Members, "members", 3, "how many members to run")
	f.DurationVar(&o.For, "for", 0, "end by itself after this time, counted from the start of the members")
	f.BoolVar(&o.Verbose, "verbose", false, "show what members log; lines also on a terminal")
	return c
}

// thisProgram is the path of the program that runs.
func thisProgram() (string, error) {
	path, err := os.Executable()
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", fmt.Errorf("path of this program: %w", err)
	}
	return path, nil
}

func connectDev(kubeconfig string) (*rest.Config, string, error) {
	c, err := findCluster(kubeconfig)
	if err != nil {
		return nil, "", err
	}
	return c.config, c.namespace, nil
}

func (a *additions) checkDev(ctx context.Context, c *config.Configuration) error {
	_, err := a.checker().plan(ctx, c)
	return err
}
