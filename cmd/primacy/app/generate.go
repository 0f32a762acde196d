package app

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/config/examples"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

func newGenerate(a *additions) *cobra.Command {
	c := &cobra.Command{
		Use:   "generate",
		Short: "Print files to begin with: a configuration, its JSON schema, the rights of members, alerts, policies",
		Args:  noCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of the configuration, for editors",
		Long: `Print the JSON schema of the configuration. Editors with a YAML language server complete keys
and words with it, and mark mistakes while you type. The schema knows the kinds of this program.
It cannot compare fields with each other: "primacy validate" does.`,
		Example: `  primacy generate schema > primacy.schema.json
  # in the first line of primacy.yaml:
  # yaml-language-server: $schema=primacy.schema.json`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			text, err := a.schema().JSON(config.APIVersion + " " + config.Kind)
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(text)
			return err
		},
	}, &cobra.Command{
		Use:   "config",
		Short: "Print a configuration to begin with",
		Long: `Print a small configuration with comments. It is valid as it stands; change the names and the
program that does the work.`,
		Example: `  primacy generate config > primacy.yaml
  primacy validate -f primacy.yaml`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(examples.Start)
			return err
		},
	}, newGenerateRBAC(a), newGenerateAlerts(), newGenerateFencePolicy(a), newGenerateLockPolicy(a))
	return c
}

// schema describes the configuration that this program reads, with all registered kinds.
func (a *additions) schema() *schema.Schema {
	return config.Schema(config.Kinds{
		Locks: slices.Sorted(maps.Keys(lockKinds)), Policies: priority.Names(), Keys: priority.Keys(),
		Sources: sourceKinds(sourceClients{}).Schemas(), Runners: a.runners.Schemas(),
		Modes: runners.Modes(), Exits: runners.Exits(),
	})
}
