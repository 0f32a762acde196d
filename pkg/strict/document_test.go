package strict_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/pkg/strict"
)

func TestDocument(t *testing.T) {
	for name, text := range map[string]string{
		"block": "a: 1", "marked": "---\na: 1", "commented": "# first\n---\na: 1\n# last\n", "JSON": `{"a": 1}`,
	} {
		node, err := strict.Document([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if a, ok := strict.Lookup(node, "a"); !ok || a.Value != "1" {
			t.Errorf("%s: got %+v", name, node)
		}
	}
}

func TestNoDocument(t *testing.T) {
	for _, text := range []string{"", "\n \n", "# a comment\n", "# a\n\n# b"} {
		if node, err := strict.Document([]byte(text)); node != nil || err != nil {
			t.Errorf("%q: got %+v, %v", text, node, err)
		}
	}
}

func TestNotOneDocument(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: 1\n---\na: 2", `2:1: a second document begins here (keep one of the two, without --- after it)`},
		{"a: 1\n---\n", `2:1: a second document begins here (keep one of the two, without --- after it)`},
		{"a: 1\n---\n\tb: 2", `3: not valid YAML: found character that cannot start any token (indent with spaces, not with tabs; quote text that begins with @ or ` + "`)"},
		{"\ta: 1", `not valid YAML: found character that cannot start any token (indent with spaces, not with tabs; quote text that begins with @ or ` + "`)"},
		{"a: 1\n  b: 2", `2: not valid YAML: mapping values are not allowed in this context (check indentation, colons and quotes around this line)`},
		{"a: *b", `not valid YAML: unknown anchor 'b' referenced (check indentation, colons and quotes around this line)`},
	} {
		node, err := strict.Document([]byte(c.text))
		if node != nil || err == nil || err.Error() != c.want {
			t.Errorf("%q:\ngot  %v\nwant %s", c.text, err, c.want)
		}
		if one := (*strict.Error)(nil); err != nil && !errors.As(err, &one) {
			t.Errorf("%q: %T", c.text, err)
		}
	}
	if _, err := strict.Document([]byte("a: *" + strings.Repeat("b", 5000))); err == nil || len(err.Error()) > 500 {
		t.Errorf("an error repeats too much of the document: %v", err)
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"plain ✓", 10, "plain ✓"},
		{" \ta\nb\x00c\x7f\u0085\u2028\ufeff\uffff ", 100, "a b c"},
		{"a\xffb", 10, "a?b"},
		{"ééééééééé", 9, "ééééééééé"},
		{"éééééééééé", 9, "éééééé..."},
	} {
		if got := strict.Text(c.text, c.most); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}
