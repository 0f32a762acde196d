package app

import (
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// plugin renames the program in texts for people: as a plugin of kubectl it calls itself by the words that its user
// typed, `kubectl primacy status`.
type plugin struct {
	// named matches the program's name before one of its commands.
	named *regexp.Regexp
}

// newPlugin knows all commands that the root has by now.
func newPlugin(root *cobra.Command) plugin {
	names := []string{"completion"} // cobra adds it later
	for _, c := range root.Commands() {
		names = append(names, regexp.QuoteMeta(c.Name()))
	}
	return plugin{regexp.MustCompile(`\bprimacy (` + strings.Join(names, "|") + `)\b`)}
}

func (p plugin) text(text string) string {
	text = p.named.ReplaceAllString(text, "kubectl primacy $1")
	return strings.ReplaceAll(text, "kubectl kubectl ", "kubectl ")
}

// rename changes the help of a command, and of all below it.
func (p plugin) rename(c *cobra.Command) {
	c.Short, c.Long, c.Example = p.text(c.Short), p.text(c.Long), p.text(c.Example)
	for _, below := range c.Commands() {
		p.rename(below)
	}
}

// pluginWriter is where a plugin writes its notes.
type pluginWriter struct {
	io.Writer
	plugin plugin
}

// Write implements io.Writer.
func (w pluginWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, w.plugin.text(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
