package app

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// completer is the name by which kubectl starts the program to complete a command line of its plugin.
const completer = "kubectl_complete-primacy"

// isCompleter says whether kubectl asks for a completion.
func isCompleter(invokedAs string) bool { return filepath.Base(invokedAs) == completer }

// completionPatience is how long a completion waits for the API server, while a person waits for it.
const completionPatience = 2 * time.Second

// addCompletion lets a shell complete the words of all commands: formats and other fixed words, files,
// and names that the API knows. Without an answer of the API there is nothing to complete.
func addCompletion(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if _, has := c.GetFlagCompletionFunc(f.Name); has {
			return // a command from outside has its own
		}
		complete := cobra.NoFileCompletions
		switch f.Name {
		case "config", "kubeconfig", "steps", "against", "devcluster":
			return // files
		case "member":
			complete = ofReport(func(r status.Report) (names []string) {
				for _, m := range r.Members {
					names = append(names, record.HostOf(m.Identity))
				}
				return names
			})
		case "revision", "canary", "stable":
			complete = ofReport(func(r status.Report) (names []string) {
				for _, m := range r.Members {
					names = append(names, m.Revision)
				}
				return names
			})
		case "group":
			complete = ofReport(func(r status.Report) (names []string) {
				for _, e := range r.Elections {
					names = append(names, e.Group)
				}
				return names
			})
		default:
			if words := wordsIn(f.Usage); words != nil {
				complete = cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
			}
		}
		if err := c.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // one flag, twice
		}
	})
	if c.ValidArgsFunction == nil {
		c.ValidArgsFunction = cobra.NoFileCompletions
		_, arguments, takes := strings.Cut(c.Use, " ")
		if takes && strings.Contains(arguments, "ELECTION") {
			several := strings.Contains(arguments, "...")
			c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
				if len(args) > 0 && !several {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return ofReport(func(r status.Report) (names []string) {
					for _, e := range r.Elections {
						if !slices.Contains(args, e.Name) {
							names = append(names, e.Name)
						}
					}
					return names
				})(c, args, begun)
			}
		}
		if takes && arguments == "MEMBER" {
			c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return ofReport(func(r status.Report) (names []string) {
					for _, m := range r.Members {
						if m.State != status.Ended {
							names = append(names, m.Identity)
						}
					}
					return names
				})(c, args, begun)
			}
		}
	}
	for _, below := range c.Commands() {
		addCompletion(below)
	}
}

// cutLast cuts text around the last sep.
func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

// wordsIn are the words that a flag's usage lists at its end, such as "format: text, json or yaml"; nil if it lists
// none.
func wordsIn(usage string) []string {
	usage, _, _ = strings.Cut(usage, " (")
	if _, list, found := cutLast(usage, ": "); found {
		usage = list
	}
	rest, last, found := cutLast(usage, " or ")
	if !found {
		return nil
	}
	words := append(strings.Split(rest, ", "), last)
	for i, w := range words {
		if strings.Contains(w, " ") {
			return nil
		}
		words[i], _, _ = strings.Cut(w, "REVISION") // the shell's user writes it
	}
	return words
}

// ofReport completes with names out of what the API, or the configuration, knows.
func ofReport(names func(status.Report) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		const done = cobra.ShellCompDirectiveNoFileComp
		p, err := config.LoadProcess(settingsOf(c))
		if err != nil {
			return nil, done
		}
		ctx, cancel := context.WithTimeout(cmp.Or(c.Context(), context.Background()), completionPatience)
		defer cancel()
		var s statusCommand
		if err := s.connect(ctx, p); err != nil {
			return nil, done
		}
		r, err := status.Look(ctx, s.realm, s.selection)
		if err != nil {
			return nil, done
		}
		found := slices.DeleteFunc(names(r), func(name string) bool { return name == "" || !strings.HasPrefix(name, begun) })
		slices.Sort(found)
		return slices.Compact(found), done
	}
}

// settingsOf are those of groupSettings that a command has.
func settingsOf(c *cobra.Command) *pflag.FlagSet {
	settings := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, name := range groupSettings {
		if f := c.Flags().Lookup(name); f != nil {
			settings.AddFlag(f)
		}
	}
	return settings
}
