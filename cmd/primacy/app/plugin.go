package app

import (
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// As a plugin of kubectl the program calls itself by the words that its user typed: `kubectl primacy status`.

// named is the program's name before one of its commands, in texts for people.
var named = regexp.MustCompile(`\bprimacy (run|status|rollout|pin|unpin|pins|revision|bury|validate|simulate|generate|version|dev|completion)\b`)

// forPlugin is a text with the name of the plugin in its commands.
func forPlugin(text string) string {
	text = named.ReplaceAllString(text, "kubectl primacy $1")
	return strings.ReplaceAll(text, "kubectl kubectl ", "kubectl ")
}

// asPlugin changes the help of a command, and of all below it.
func asPlugin(c *cobra.Command) {
	c.Short, c.Long, c.Example = forPlugin(c.Short), forPlugin(c.Long), forPlugin(c.Example)
	for _, below := range c.Commands() {
		asPlugin(below)
	}
}

// pluginWords is where a plugin writes its notes.
type pluginWords struct{ io.Writer }

// Write implements io.Writer.
func (w pluginWords) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, forPlugin(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
