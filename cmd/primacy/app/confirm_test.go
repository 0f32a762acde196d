package app

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spf13/pflag"
)

func TestConfirmation(t *testing.T) {
	const what = "3 elections will move to canary"
	for _, tt := range []struct {
		name   string
		c      confirmation
		answer string
		asked  bool
		want   string // part of the error; empty for none
	}{
		{"yes was given", confirmation{yes: true}, "", false, ""},
		{"yes was given at a terminal", confirmation{yes: true, ask: true}, "", false, ""},
		{"nobody is there", confirmation{}, "y\n", false, what + "; nothing was changed, since there is no terminal to ask at (give --yes to go on without asking, or --dry-run to look only)"},
		{"y", confirmation{ask: true}, "y\n", true, ""},
		{"yes", confirmation{ask: true}, " YES \n", true, ""},
		{"no", confirmation{ask: true}, "no\n", true, "nothing was changed"},
		{"Enter", confirmation{ask: true}, "\n", true, "nothing was changed"},
		{"end", confirmation{ask: true}, "", true, "nothing was changed"},
		{"something", confirmation{ask: true}, "yesterday\n", true, "nothing was changed"},
	} {
		var out strings.Builder
		tt.c.in, tt.c.out = strings.NewReader(tt.answer), &out
		err := tt.c.of(t.Context(), what)
		if got := message(err); got != tt.want {
			t.Errorf("%s: error %q, want %q", tt.name, got, tt.want)
		}
		if asked := out.String() == what+". Go on? [y/N] "; asked != tt.asked {
			t.Errorf("%s: asked %q", tt.name, &out)
		}
	}
	broken := errors.New("no terminal any more")
	c := confirmation{ask: true, in: iotest.ErrReader(broken), out: new(strings.Builder)}
	if err := c.of(t.Context(), what); !errors.Is(err, broken) {
		t.Errorf("an answer that cannot be read: %v", err)
	}
	var wrong *usageError
	if err := new(confirmation).of(t.Context(), what); !errors.As(err, &wrong) {
		t.Errorf("without a terminal: %v is no mistake in the command line", err)
	}
}

// TestSignalAtTheQuestion checks that Ctrl-C means no, and that a "y" after it does not count.
func TestSignalAtTheQuestion(t *testing.T) {
	in, typing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer typing.Close()
	ctx, signal := context.WithCancel(t.Context())
	c := confirmation{ask: true, in: in, out: asked(signal)} // the signal comes while the command waits for the answer
	if err := c.of(ctx, "it moves"); !errors.Is(err, errDeclined) {
		t.Errorf("a signal: %v", err)
	}
	if _, err := typing.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	if err := c.of(ctx, "it moves"); !errors.Is(err, errDeclined) {
		t.Errorf("y after a signal: %v", err)
	}
	c.yes = true
	if err := c.of(ctx, "it moves"); !errors.Is(err, errDeclined) {
		t.Errorf("--yes after a signal: %v", err)
	}
}

// asked is a writer made of a function, which it calls when the question is written.
type asked func()

func (a asked) Write(p []byte) (int, error) { a(); return len(p), nil }

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestOutput(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o, dry, confirm := addOutput(flags), addDryRun(flags), newConfirmation(flags)
	if err := flags.Parse([]string{"-o", "yaml", "--dry-run", "-y"}); err != nil || *o != outputYAML || !bool(*dry) || !confirm.yes {
		t.Errorf("%v, %v, %v, %v", err, *o, *dry, confirm.yes)
	}
	if err := o.Set("jsn"); err == nil || err.Error() != `want text, json or yaml, got "jsn" (did you mean json?)` {
		t.Errorf("jsn: %v", err)
	}
	document := struct {
		Moves int `json:"moves"`
	}{3}
	for format, want := range map[output]string{outputText: "three\n", outputJSON: "{\n  \"moves\": 3\n}\n", outputYAML: "moves: 3\n"} {
		var out strings.Builder
		if err := format.write(&out, "three\n", document); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v", format, &out, err)
		}
	}
}
