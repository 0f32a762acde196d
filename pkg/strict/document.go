package strict

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document parses bytes that hold one document, and returns its content. The node is nil
// where there is no document at all. The error is an *Error: the bytes are not YAML, or hold
// a second document.
func Document(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntaxError(err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, NewError(&second, "", "a second document begins here", "keep one of the two, without --- after it")
	case !errors.Is(err, io.EOF):
		return nil, syntaxError(err)
	}
	return doc.Content[0], nil
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// syntaxError takes the line out of the text of the parser's error.
func syntaxError(err error) *Error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	e := &Error{Hint: "check indentation, colons and quotes around this line"}
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	if strings.Contains(text, "cannot start any token") {
		e.Hint = "indent with spaces, not with tabs; quote text that begins with @ or `"
	}
	e.Problem = "not valid YAML: " + Text(text, maxProblem)
	return e
}

// maxProblem bounds what the parser says, in which names of the document may stand.
const maxProblem = 300

// Text makes any text one that YAML can carry and that fits on a line, of so many runes at
// most.
func Text(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most-3]) + "..."
	}
	return strings.TrimSpace(s)
}
