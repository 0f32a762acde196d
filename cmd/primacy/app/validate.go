package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/config"
)

func newValidate(a *additions) *cobra.Command {
	var file string
	var members int
	c := &cobra.Command{
		Use:   "validate -f FILE",
		Short: "Check a configuration, and show what its timings add up to",
		Long: `Check everything about a configuration that can be checked without a cluster, and show
what its timings add up to: the outages that elections tolerate, how long takeovers take at
worst, and what members ask of the API.
Mistakes are printed as file:line:column: field: problem (hint), all at once, and the
exit status is 1.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if file == "" {
				return &usageError{errors.New("no configuration (give -f FILE; - is standard input)")}
			}
			if members < 1 {
				return &usageError{fmt.Errorf("--members %d (it must be 1 or more)", members)}
			}
			return a.validate(c.InOrStdin(), c.OutOrStdout(), file, members)
		},
	}
	c.Flags().IntVar(&members, "members", 3, "how many members there are, for the requests that they send")
	c.Flags().StringVarP(&file, "file", "f", "", "the configuration; - is standard input")
	return c
}

func (a *additions) validate(stdin io.Reader, out io.Writer, file string, members int) error {
	c, err := load(stdin, file)
	if err != nil {
		return err
	}
	if _, err := a.checker().plan(c); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: valid\n\n%s\n%s\n%s", c.File, summary(c), c.Arithmetic(), c.Overview(members))
	return err
}

// load reads a configuration from a file, or from standard input.
func load(stdin io.Reader, file string) (*config.Configuration, error) {
	if file != "-" {
		c, err := config.Load(file)
		return c, hintMissing(err, "-f")
	}
	data, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return config.Parse("standard input", data)
}

// hintMissing says where a file that is not there was named.
func hintMissing(err error, where string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w (check %s)", err, where)
	}
	return err
}

// summary says in a few lines what a configuration is about.
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
elections          %d, with %d runners
`, c.Group, namespace, c.Member.Revision, c.Member.Location, source, len(c.Elections), runners) + special(c)
}

// special names the elections in which not exactly one member of the group leads.
func special(c *config.Configuration) string {
	var scoped, disabled []string
	for _, e := range c.Elections {
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
	return text
}
