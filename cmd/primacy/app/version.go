package app

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/config"
)

// version is set by the linker.
var version = "dev"

// versions is what `primacy version -o json` prints. Fields are added, never renamed.
type versions struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	ClientGo string `json:"clientGo"`
	// Formats are the documents that this version reads.
	Formats []string `json:"formats"`
}

func currentVersions() versions {
	return versions{
		Version:  version,
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		ClientGo: moduleVersion("k8s.io/client-go"),
		Formats:  []string{config.APIVersion + " " + config.Kind},
	}
}

// moduleVersion is the version of a module that is linked into the program.
func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}

func newVersion() *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the program and of what it reads",
		Args:  noArguments,
	}
	format := addOutput(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		v := currentVersions()
		return format.write(c.OutOrStdout(), v.text(), v)
	}
	return c
}

// text is what people read.
func (v versions) text() string {
	text := fmt.Sprintf("primacy    %s\ngo         %s %s\nclient-go  %s\n", v.Version, v.Go, v.Platform, v.ClientGo)
	for _, f := range v.Formats {
		text += "reads      " + f + "\n"
	}
	return text
}
