package app

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// shared are the flags that mean the same in each command that has them, with their one-letter forms.
var shared = map[string]string{
	"config": "f", "output": "o", "namespace": "n", "kubeconfig": "", "context": "", "group": "", "watch": "w", "yes": "y", "dry-run": "", "wait": "", "timeout": "",
}

// TestOneFlagForOneThing walks all commands: a shared flag has one short form everywhere, no other flag has
// that short form, and each flag and argument can be completed.
func TestOneFlagForOneThing(t *testing.T) {
	short := map[string]string{}
	for name, letter := range shared {
		if letter != "" {
			short[letter] = name
		}
	}
	commands := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		commands++
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if letter, is := shared[f.Name]; is && f.Shorthand != letter {
				t.Errorf("%s: --%s has the short form %q, elsewhere %q", c.CommandPath(), f.Name, f.Shorthand, letter)
			}
			if name, taken := short[f.Shorthand]; f.Shorthand != "" && taken && name != f.Name {
				t.Errorf("%s: -%s is --%s, elsewhere --%s", c.CommandPath(), f.Shorthand, f.Name, name)
			}
			if f.Name == "file" || f.Name == "format" {
				t.Errorf("%s: --%s is --config or --output elsewhere", c.CommandPath(), f.Name)
			}
			if f.Name == "output" {
				for _, w := range wordsIn(f.Usage) {
					if err := f.Value.Set(w); err != nil {
						t.Errorf("%s: -o %s is completed, and refused: %v", c.CommandPath(), w, err)
					}
				}
				if len(wordsIn(f.Usage)) < 3 {
					t.Errorf("%s: -o is not completed: %q", c.CommandPath(), f.Usage)
				}
			}
		})
		if c.ValidArgsFunction == nil {
			t.Errorf("%s: its arguments are not completed", c.CommandPath())
		}
		for _, below := range c.Commands() {
			if !strings.HasPrefix(below.Name(), "_") {
				walk(below)
			}
		}
	}
	walk(newRoot("primacy", add(nil)))
	if commands < 20 {
		t.Errorf("%d commands were walked", commands)
	}
}

// TestThePluginNamesItsCommands checks that texts name each command as kubectl's user types it.
func TestThePluginNamesItsCommands(t *testing.T) {
	root := newRoot("kubectl-primacy", add(nil))
	p := newPlugin(root)
	for _, c := range root.Commands() {
		for _, text := range []string{"(primacy %s says why)", "(kubectl primacy %s says why)"} {
			if got, want := p.text(fmt.Sprintf(text, c.Name())), "(kubectl primacy "+c.Name()+" says why)"; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
	for _, c := range root.Commands() {
		words := strings.Join(strings.Fields(c.Short+" "+c.Long+" "+c.Example), " ")
		if missed := p.named.FindString(strings.ReplaceAll(words, "kubectl primacy ", "")); missed != "" {
			t.Errorf("%s: its help says %q", c.Name(), missed)
		}
	}
}
