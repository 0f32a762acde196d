// Command primacy-plugins is primacy with one more kind of runner: plugins.
//
// Plugins are in one folder: PRIMACY_PLUGIN_DIR, or /usr/local/lib/primacy/plugins. The
// configuration cannot choose another.
package main

import (
	"os"

	"github.com/primacy-dev/primacy/cmd/primacy/app"
	"github.com/primacy-dev/primacy/pkg/runners/plugin"
)

const defaultFolder = "/usr/local/lib/primacy/plugins"

func main() {
	folder := plugin.Folder(defaultFolder)
	if dir := os.Getenv("PRIMACY_PLUGIN_DIR"); dir != "" {
		folder = plugin.Folder(dir)
	}
	app.Main(app.Kind("plugin", plugin.Kind(folder)), app.Described("plugin", plugin.Block()), app.Command(newPlugins(folder)))
}
