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

// Document parses bytes that hold one document, and returns its content, nil if there is no
// document. The error is an *Error: the bytes are not YAML, or hold a second document.
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

// syntaxError makes an Error of the parser's error. It takes the line number out of the parser's
// text.
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

// maxProblem bounds the parser's text, which may quote the document.
const maxProblem = 300

// Text turns any text into one that YAML can carry, on one line, of at most "most" runes.
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
