package dev

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// nameOf is the name of the member that has an identity; a stranger's as it is.
func nameOf(identity string) string {
	if record.OurForm(identity) {
		return identity[:strings.LastIndexByte(identity, '_')]
	}
	return printable(identity)
}

// printable escapes what would not be shown as it is. Anybody may have written it.
func printable(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}
