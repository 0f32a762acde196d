package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/pkg/strict"
)

// form is a rule of Kubernetes for names.
type form struct {
	pattern *regexp.Regexp
	max     int
	rule    string
}

var (
	dnsLabel = form{
		regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`), 63,
		"use lower-case letters, digits and dashes; begin and end with a letter or digit",
	}
	// labelledName is a DNS-1123 subdomain that also fits into a label.
	labelledName = form{subdomain, 63, subdomainRule}
	objectName   = form{subdomain, 253, subdomainRule}
	labelValue   = form{
		regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`), 63,
		"use letters, digits, dashes, underscores and dots; begin and end with a letter or digit",
	}
)

// fileName is a path. Nothing else is checked before the file is read.
var fileName = form{regexp.MustCompile(`.`), 4096, "name a file"}

// forms are the forms of names that fields of documents have by their tags.
var forms = map[string]form{"label": dnsLabel, "election": labelledName, "object": objectName, "value": labelValue, "file": fileName}

var subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

const subdomainRule = "use lower-case letters, digits, dashes and dots; begin and end each part with a letter or digit"

// name checks a name and says whether it is good.
func (r *resolver) name(field, value string, f form) bool {
	switch {
	case value == "":
		r.fail(field, "give it a name", "is empty")
	case len(value) > f.max:
		r.fail(field, fmt.Sprintf("%d at most", f.max), "%.70q has %d characters", value, len(value))
	case !f.pattern.MatchString(value):
		r.fail(field, f.rule, "%q is not a valid name", value)
	default:
		return true
	}
	return false
}

// word checks a word that a registry looks up later; if absent, it returns otherwise.
func (r *resolver) word(field, value, otherwise string) string {
	if !r.given(field) {
		return otherwise
	}
	if value == "" {
		r.fail(field, "the default is "+otherwise, "is empty")
	}
	return value
}

// oneOf checks that a word is one of words; if absent, it returns the first of them.
func (r *resolver) oneOf(field, value string, words ...string) string {
	if !r.given(field) {
		return words[0]
	}
	if problem, hint := notOneOf(value, words); problem != "" {
		r.fail(field, hint, "%s", problem)
		return words[0]
	}
	return value
}

func notOneOf(value string, words []string) (problem, hint string) {
	if slices.Contains(words, value) {
		return "", ""
	}
	if near := strict.Nearest(value, words); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fmt.Sprintf("want %s, got %.70q", strings.Join(words, " or "), value), hint
}
