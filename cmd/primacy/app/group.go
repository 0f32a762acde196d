package app

import (
	"context"
	"fmt"
	"maps"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// groupCommand is one invocation of a command about the preferences of a group's elections.
type groupCommand struct {
	statusCommand
	process *config.Process
	// group is the name of the group. If no setting names it, group is empty until the command has found it.
	group string
	core  coreclient.ConfigMapsGetter
	// places are the stores of Leases in other namespaces, by namespace. leasesIn makes them.
	places map[string]lock.Store
	// set is a cache of configuredSet.
	set string
}

// groupSettings are the settings that locate the group.
var groupSettings = []string{"config", "kubeconfig", "context", "namespace", "group"}

// groupSettingsOf are the groupSettings among a command's flags. It leaves out --revision, which in these
// commands does not mean a member's revision.
func groupSettingsOf(c *cobra.Command) *pflag.FlagSet {
	settings := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, name := range groupSettings {
		settings.AddFlag(c.Flags().Lookup(name))
	}
	return settings
}

// inGroup connects and runs a command until it ends or a signal comes.
func inGroup(c *cobra.Command, run func(context.Context, groupCommand) error) error {
	p, err := config.LoadProcess(groupSettingsOf(c))
	if err != nil {
		return hintMissing(err, "--config and PRIMACY_CONFIG")
	}
	ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	g := groupCommand{process: p, group: p.Group}
	g.out, g.notes = c.OutOrStdout(), c.ErrOrStderr()
	if err := g.connect(ctx, p); err != nil {
		return err
	}
	if g.core, err = apiserver.ClientFor(g.cluster.config, coreclient.NewForConfigAndClient); err != nil {
		return err
	}
	return run(ctx, g)
}

func (g *groupCommand) maps() coreclient.ConfigMapInterface { return g.core.ConfigMaps(g.namespace) }

// onlyGroup is the only group of a namespace.
func onlyGroup(r status.Report, namespace string) (string, error) {
	groups := map[string]bool{}
	for _, e := range r.Elections {
		groups[e.Group] = true
	}
	for _, m := range r.Members {
		groups[m.Group] = true
	}
	delete(groups, "")
	names := slices.Sorted(maps.Keys(groups))
	switch len(names) {
	case 0:
		return "", fmt.Errorf("there is no group in namespace %s (--group names one, --namespace chooses another namespace)", namespace)
	case 1:
		return names[0], nil
	}
	return "", &usageError{fmt.Errorf("which group? there are %s in namespace %s (--group names one)", strings.Join(names, ", "), namespace)}
}
