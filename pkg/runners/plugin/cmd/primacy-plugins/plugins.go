package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/runners/plugin"
)

func newPlugins(folder plugin.Folder) *cobra.Command {
	c := &cobra.Command{
		Use:   "plugins",
		Short: "List and verify the plugins that elections can run",
		Long: `List and verify the plugins that elections can run. They are files in one folder,
which PRIMACY_PLUGIN_DIR names (default ` + defaultFolder + `).`,
		Args: cobra.NoArgs,
	}
	c.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "Print name and sha256 of each file in the folder; nothing is started",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return list(c.OutOrStdout(), folder) },
	}, &cobra.Command{
		Use:   "verify [NAME...]",
		Short: "Start plugins, all if none is named, to hear what they are",
		Long: `Start plugins, all if none is named, to hear whether they can be used, and what they are.
They do no work. The exit status is 1 if one cannot be used.

A sha256 that is printed here is that of what was started. Whether it is the one that
you want only its maker knows.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, names []string) error {
			return verify(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), folder, names)
		},
	})
	return c
}

func list(out io.Writer, folder plugin.Folder) error {
	names, err := folder.Names()
	if err != nil {
		return fmt.Errorf("%w (PRIMACY_PLUGIN_DIR names the folder)", err)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "NAME\tSHA256\tNOTE")
	for _, name := range names {
		p, err := folder.Load(name)
		if err != nil {
			_, _ = fmt.Fprintf(w, "%s\t-\t%v\n", name, err)
			continue
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t\n", name, p.SHA256)
		_ = p.Close()
	}
	return w.Flush()
}

var errUnusable = errors.New("not all plugins can be used (see above)")

func verify(ctx context.Context, out, notes io.Writer, folder plugin.Folder, names []string) error {
	if len(names) == 0 {
		var err error
		if names, err = folder.Names(); err != nil {
			return fmt.Errorf("%w (PRIMACY_PLUGIN_DIR names the folder)", err)
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "NAME\tIS\tVERSION\tPROTOCOL\tSHA256")
	var failed error
	for _, name := range names {
		d, hash, err := describe(ctx, folder, name)
		if err != nil {
			failed = errUnusable
			_, _ = fmt.Fprintf(notes, "%v\n", err)
			continue
		}
		_, _ = fmt.Fprintf(w, "%s\t%q\t%q\t%d\t%s\n", name, d.Name, d.Version, d.Protocol, hash)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return failed
}

func describe(ctx context.Context, folder plugin.Folder, name string) (plugin.Description, string, error) {
	p, err := folder.Load(name)
	if err != nil {
		return plugin.Description{}, "", err
	}
	defer p.Close()
	d, err := p.Describe(ctx, zap.NewNop())
	return d, p.SHA256, err
}
