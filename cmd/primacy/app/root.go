package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/primacy-dev/primacy/config"
)

// newRoot is the command line; invokedAs is the name by which the program was started.
func newRoot(invokedAs string, a *additions) *cobra.Command {
	root := &cobra.Command{
		Use:   "primacy",
		Short: "Leader election for Kubernetes control planes",
		Long: `Primacy elects, for each of many elections, one member of a group to do the work.
The preferred revision leads; when a better member appears, leadership moves to it
without a moment in which two members work at once.`,
		Example: `  primacy validate -f primacy.yaml   check a configuration
  primacy run --config primacy.yaml  take part as a member
  primacy status                     who leads what
  primacy explain ingress-status     why it is led as it is`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	if isPlugin(invokedAs) || isCompleter(invokedAs) {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl primacy"}
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		hint := c.CommandPath() + " --help lists the flags"
		if number := unitless(err); number != "" {
			hint = fmt.Sprintf("%[1]ss is seconds, %[1]sm is minutes", number)
		}
		return &usageError{fmt.Errorf("%w (%s)", err, hint)}
	})
	root.AddCommand(
		newRun(a), newStatus(), newExplain(), newHistory(), newEvents(),
		newRollout(), newPin(), newUnpin(), newPins(), newDrain(), newHandover(), newPause(), newResume(), newRevision(),
		newBury(), newHandback(), newGC(), newUninstall(),
		newCheck(a), newValidate(a), newSimulate(a), newGenerate(a), newVersion(), newDev(a), newDemo(),
	)
	root.AddCommand(a.commands...)
	addCompletion(root)
	if root.Annotations != nil {
		p := newPlugin(root)
		p.rename(root)
		root.SetErr(pluginWriter{os.Stderr, p})
	}
	return root
}

// isPlugin says whether kubectl started the program as its plugin.
func isPlugin(invokedAs string) bool {
	return strings.HasPrefix(filepath.Base(invokedAs), "kubectl-")
}

var number = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// unitless is the number that somebody gave a flag in place of a duration; empty if that is not the error.
func unitless(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) || invalid.GetFlag().Value.Type() != "duration" {
		return ""
	}
	return number.FindString(invalid.GetValue())
}

// noArguments refuses arguments that are not flags.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &usageError{fmt.Errorf("unexpected argument %q (%s --help says what there is)", args[0], c.CommandPath())}
}

// noCommand refuses an argument of a command that only has commands below it.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &usageError{fmt.Errorf("there is no command %q (%s --help lists them)", args[0], c.CommandPath())}
}

// shorthands are the settings with a one-letter flag, as in kubectl.
var shorthands = map[string]string{"namespace": "n", "config": "f"}

// addSettings defines those of the process's settings that a command reads.
func addSettings(flags *pflag.FlagSet, names ...string) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(all)
	for _, name := range names {
		f := all.Lookup(name)
		f.Shorthand = shorthands[name]
		flags.AddFlag(f)
	}
}
