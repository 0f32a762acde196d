package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"

	"github.com/muesli/cancelreader"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	"github.com/primacy-dev/primacy/pkg/strict"
)

// confirmation asks a person before leadership moves. It belongs to one invocation.
type confirmation struct {
	yes bool
	// in is where the answer comes from; ask says whether in is a terminal.
	in  io.Reader
	ask bool
	out io.Writer
}

// atTerminal asks at the terminal of the process.
func atTerminal() *confirmation {
	return &confirmation{in: os.Stdin, ask: term.IsTerminal(int(os.Stdin.Fd())) && isTerminal(os.Stderr), out: os.Stderr}
}

// newConfirmation defines --yes. It uses the terminal of the process.
func newConfirmation(flags *pflag.FlagSet) *confirmation {
	c := atTerminal()
	flags.BoolVarP(&c.yes, "yes", "y", false, "do not ask before leadership moves")
	return c
}

// errDeclined says that a person answered no.
var errDeclined = errors.New("nothing was changed")

// of asks whether to go on. what says what will happen, such as "3 elections will move to canary". If of
// returns an error, the caller must change nothing. If a signal ends ctx, the answer is no.
func (c *confirmation) of(ctx context.Context, what string) error {
	switch {
	case ctx.Err() != nil:
		return errDeclined
	case c.yes:
		return nil
	case !c.ask:
		return &usageError{fmt.Errorf("%s; nothing was changed, since there is no terminal to ask at (give --yes to go on without asking, or --dry-run to look only)", what)}
	}
	if _, err := fmt.Fprintf(c.out, "%s. Go on? [y/N] ", what); err != nil {
		return err
	}
	line, err := c.answer(ctx)
	switch {
	case ctx.Err() != nil: // even if an answer came meanwhile
		return errDeclined
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return errDeclined
}

// answer reads a line, until ctx ends.
func (c *confirmation) answer(ctx context.Context) (string, error) {
	in, err := cancelreader.NewReader(c.in)
	if err != nil {
		return "", err
	}
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		in.Cancel()
		close(cancelled)
	})
	line, err := bufio.NewReader(in).ReadString('\n')
	if !stop() {
		<-cancelled
	}
	_ = in.Close() // the terminal itself stays open
	return line, err
}

// dryRun is the value of --dry-run.
type dryRun bool

func addDryRun(flags *pflag.FlagSet) *dryRun {
	var d dryRun
	flags.BoolVar((*bool)(&d), "dry-run", false, "show what would happen, and change nothing")
	return &d
}

// output is the form in which a command writes its result.
type output string

const (
	outputText output = "text"
	outputJSON output = "json"
	outputYAML output = "yaml"
)

var outputs = []string{string(outputText), string(outputJSON), string(outputYAML)}

// addOutput defines -o.
func addOutput(flags *pflag.FlagSet) *output {
	o := outputText
	flags.VarP(&o, "output", "o", "text, json or yaml")
	return &o
}

// Set implements pflag.Value.
func (o *output) Set(s string) error {
	for _, known := range outputs {
		if s == known {
			*o = output(s)
			return nil
		}
	}
	hint := ""
	if near := strict.Nearest(s, outputs); near != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", near)
	}
	return fmt.Errorf("want text, json or yaml, got %q%s", s, hint)
}

// String implements pflag.Value.
func (o *output) String() string { return string(*o) }

// Type implements pflag.Value.
func (o *output) Type() string { return "format" }

// write writes a result: the text, or the equivalent document as JSON or YAML.
func (o output) write(w io.Writer, text string, document any) error {
	var data []byte
	var err error
	switch o {
	case outputJSON:
		data, err = json.MarshalIndent(document, "", "  ")
		data = append(data, '\n')
	case outputYAML:
		data, err = yaml.Marshal(document)
	default:
		data = []byte(text)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// operator is who runs the command, for the record: the user as which the API server knows it, else the user of this
// machine; empty if neither is known.
func operator(ctx context.Context, c *cluster) string {
	if name, err := userOf(ctx, c); err == nil && name != "" {
		return name
	}
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
