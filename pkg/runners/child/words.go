//go:build linux

package child

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words makes a program's text safe to show and to keep. It cuts the text to the length of a line and
// copies that part, so that the rest can be freed. It escapes characters that change how other text
// looks.
func Words(said string) string {
	if len(said) > maxLine {
		said = strings.Clone(said[:maxLine])
	}
	return escaped(said)
}

// escaped escapes characters that logs leave alone: control characters outside ASCII (terminals obey
// U+009B), and marks that change the direction of writing.
func escaped(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case !hidden(r):
			b.WriteString(s[i : i+size])
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return r >= 0x7f && r != utf8.RuneError && !unicode.IsGraphic(r) }
