package view

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// NameOf is the name of the member with the given identity. An identity that is not of our
// form, such as that of a foreign elector, is only made printable.
func NameOf(identity string) string {
	if record.OurForm(identity) {
		return identity[:strings.LastIndexByte(identity, '_')]
	}
	return Printable(identity)
}

// Printable escapes characters that a terminal does not show as they are. Anybody may have written them.
func Printable(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case hidden(r):
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
		s = s[size:]
	}
	return b.String()
}

func hidden(r rune) bool { return !unicode.IsPrint(r) }
