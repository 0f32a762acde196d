package record

import (
	"fmt"
	"regexp"
)

// NewIdentity is the identity of one incarnation of a member: `<host>_<8 hex digits>`.
// The number must be random, so that no identity is ever used twice.
func NewIdentity(host string, random uint32) string { return fmt.Sprintf("%s_%08x", host, random) }

// HostOf is the host that an identity of ours names; empty for one that is not ours.
func HostOf(identity string) string {
	at := len(identity) - len("_00000000")
	if at < 1 || identity[at] != '_' {
		return ""
	}
	return identity[:at]
}

var ourForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?_[0-9a-f]{8}$`)

// OurForm says whether an identity has the form that members of ours use. A holder of
// that form is never taken for a foreign elector.
func OurForm(identity string) bool { return ourForm.MatchString(identity) }
