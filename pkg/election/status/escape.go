package status

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean escapes what cannot be printed or would change how the rest looks: control sequences
// of terminals, marks of writing direction, bytes that are not text.
func clean(s string) string {
	if !strings.ContainsFunc(s, unsafe) && utf8.ValidString(s) {
		return s
	}
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

func unsafe(r rune) bool { return r == '\\' || !unicode.IsPrint(r) }

// cleanText is clean for our own texts, in which others' strings are escaped already.
func cleanText(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r != '\\' && unsafe(r) }) && utf8.ValidString(s) {
		return s
	}
	return clean(s)
}

// longest is how many characters a cell of a table shows.
const longest = 96

func cut(s string) string {
	if r := []rune(s); len(r) > longest {
		return string(r[:longest-1]) + "…"
	}
	return s
}
