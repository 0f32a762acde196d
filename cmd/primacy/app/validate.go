package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/strict"
)

func newValidate(a *additions) *cobra.Command {
	var v validation
	c := &cobra.Command{
		Use:   "validate -f FILE [--against FILE | --running]",
		Short: "Check a configuration, and show what its timings add up to",
		Long: `Check everything about a configuration that can be checked without a cluster, and show
what its timings add up to: the outages that elections tolerate, how long takeovers take at
worst, and what members ask of the API.

With --against, show instead what a member with that configuration in force would do with this
one: which elections would stop, be exchanged or left alone, and what waits for a restart. Parts
that the member would refuse are mistakes.

With --running, show what the members that run would do with this file, as far as their sessions
and locks tell: they publish digests of their elections, of the rules and of the timings, and no
runners and no sources. Of a migration only the locks tell. It needs list and watch on leases, and on
configmaps where locks are ConfigMaps.

Mistakes are printed as file:line:column: field: problem (hint), all at once, and the exit
status is 1. Some mistakes hide others until you correct them. Invalid YAML, another apiVersion
or kind, anchors, aliases and tags hide all others. Fields are checked against each other only
if all of them can be read. --against is checked last.

A program that an exec runner names, and that is not there, is only a warning: members may run
on another machine, or in another image. --here makes it a mistake; give it where the members
will run, such as in their image.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if v.file == "" {
				return &usageError{errors.New("no configuration (give -f FILE; - is standard input)")}
			}
			if v.members < 1 {
				return &usageError{fmt.Errorf("--members %d (it must be 1 or more)", v.members)}
			}
			if v.running && (v.inForce != "" || v.file == "-") {
				return &usageError{errors.New("--running needs a file, and goes without --against (give one of the two)")}
			}
			var err error
			if v.outside, err = config.OutsideOf(c.Flags()); err != nil {
				return err
			}
			if err := a.validate(c.Context(), c.InOrStdin(), c.OutOrStdout(), v); err != nil || !v.running {
				return err
			}
			return inGroup(c, func(ctx context.Context, g groupCommand) error { return a.validateRunning(ctx, g) })
		},
	}
	c.Flags().IntVar(&v.members, "members", 3, "how many members there are, for the requests that they send")
	c.Flags().StringVar(&v.inForce, "against", "", "the configuration in force")
	c.Flags().BoolVar(&v.running, "running", false, "show what the members that run would do with it")
	addSettings(c.Flags(), "kubeconfig", "context", "namespace", "group")
	c.Flags().BoolVar(&v.here, "here", false, "members will run on this machine: what it lacks is a mistake")
	c.Flags().StringVarP(&v.file, "config", "f", "", "the configuration; - is standard input")
	return c
}

// validation is one invocation of validate.
type validation struct {
	// file is the configuration, and inForce the one that members run with; empty for none.
	file, inForce string
	members       int
	// running: compare with the members that run.
	running bool
	// outside is what flags and the environment say in place of the files.
	outside config.Outside
	// here: members will run on this machine.
	here bool
}

func (a *additions) validate(ctx context.Context, stdin io.Reader, out io.Writer, v validation) error {
	c, err := survey(stdin, v.file, v.outside)
	if c == nil {
		return err
	}
	made, more := a.checker().plan(ctx, c)
	if err != nil || more != nil {
		return together(err, config.Independent(mistakesIn(err), mistakesIn(more)))
	}
	if err := missing(made.elections); err != nil && v.here {
		return err
	}
	if v.inForce != "" {
		return a.validateAgainst(ctx, out, c, v)
	}
	if v.running {
		_, err = fmt.Fprintf(out, "%s: valid\n", c.File)
		return err
	}
	_, err = fmt.Fprintf(out, "%s: valid\n%s\n%s\n%s\n%s", c.File, warnings(missing(made.elections)), summary(c), c.Arithmetic(), c.Overview(v.members))
	return err
}

// warnings say what this machine lacks; the machines of the members may have it.
func warnings(err error) string {
	var errs strict.Errors
	if !errors.As(err, &errs) {
		return ""
	}
	var b strings.Builder
	for _, e := range errs {
		fmt.Fprintf(&b, "warning: %v\n", e)
	}
	return b.String() + "         members on this machine would refuse to work so; on others it may be there\n"
}

// validateAgainst shows what a member with the configuration in force does when it takes up c.
func (a *additions) validateAgainst(ctx context.Context, out io.Writer, c *config.Configuration, v validation) error {
	before, err := config.LoadFrom(v.inForce, v.outside)
	if err != nil {
		return hintMissing(err, "--against")
	}
	r, err := a.checker().reload(ctx, before, c)
	if err != nil {
		return err
	}
	needsOf := func(c *config.Configuration, made *plan) []need {
		return needs(&config.Process{Group: c.Group, Namespace: c.Namespace, Configuration: c}, "", made.source)
	}
	rights, unknown := "", ""
	switch inForce, err := a.checker().plan(ctx, before); {
	case err == nil:
		rights = furtherRights(needsOf(before, inForce), needsOf(r.Next, r.made))
	case ctx.Err() != nil:
		return err
	default: // another build of the program may know all of it
		unknown = fmt.Sprintf("warning: which further rights it needs is not known, since this program would refuse what is in force: %s\n", oneLine(err))
	}
	_, err = fmt.Fprintf(out, "%s: valid\n%s%s\n%s", c.File, warnings(missing(r.begun())), unknown, against(r.Plan, rights, v.inForce))
	return err
}

// mistakesIn are the mistakes that an error lists.
func mistakesIn(err error) (list strict.Errors) {
	errors.As(err, &list)
	return list
}

// together merges mistakes of one document, sorted by place.
func together(errs ...error) error {
	var all strict.Errors
	for _, err := range errs {
		var some strict.Errors
		if errors.As(err, &some) {
			all = append(all, some...)
		}
	}
	return all.OrNil()
}

// survey reads a configuration from a file, or from standard input. Along with mistakes it may return
// the parts without any.
func survey(stdin io.Reader, file string, o config.Outside) (*config.Configuration, error) {
	if file != "-" {
		data, err := config.Read(file)
		if err != nil {
			return nil, hintMissing(err, "-f")
		}
		return config.Survey(file, data, o)
	}
	data, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return config.Survey("standard input", data, o)
}

// hintMissing adds, to the error for a missing file, the place that names the file.
func hintMissing(err error, where string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w (check %s)", err, where)
	}
	return err
}

// summary describes a configuration in a few lines.
func summary(c *config.Configuration) string {
	namespace := c.Namespace
	if namespace == "" {
		namespace = "that of the client's context"
	}
	source := "none"
	if c.DefaultRevision != nil {
		source = "from " + c.DefaultRevision.Kind
	}
	runners := 0
	for _, e := range c.Elections {
		runners += len(e.Runners)
	}
	return fmt.Sprintf(`group              %s
namespace          %s
member             revision %s, %s
default revision   %s
endpoints          %s
elections          %d, with %d runners
`, c.Group, namespace, c.Member.Revision, c.Member.Location, source, served(c.HTTP), len(c.Elections), runners) + special(c)
}

// served says where which endpoints are served, and to whom.
func served(h config.HTTP) string {
	switch {
	case !h.Served():
		return "none"
	case h.ProbesOnly():
		return h.Address + ": /livez and /readyz alone, since the others need http.tls there"
	case h.Access == config.AccessToken:
		return h.Address + ": /livez and /readyz for everybody, the others by token"
	}
	return h.Address + ": for every client"
}

// special names the elections that are scoped, disabled or without runners.
func special(c *config.Configuration) string {
	var scoped, disabled, idle []string
	for _, e := range c.Elections {
		if len(e.Runners) == 0 {
			idle = append(idle, e.Name)
		}
		if e.Suffix != "" {
			scoped = append(scoped, e.Name)
		}
		if e.Disabled {
			disabled = append(disabled, e.Name)
		}
	}
	text := ""
	if scoped != nil {
		text += fmt.Sprintf("scope: revision    %s (one election for each revision)\n", strings.Join(scoped, ", "))
	}
	if disabled != nil {
		text += fmt.Sprintf("enabled: false     %s (no election: every member runs the runners)\n", strings.Join(disabled, ", "))
	}
	if idle != nil {
		text += fmt.Sprintf("no work            %s (no runners: leadership alone is the product)\n", strings.Join(idle, ", "))
	}
	return text
}
