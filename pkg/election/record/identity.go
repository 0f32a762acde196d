package record

import "fmt"

// NewIdentity is the identity of one incarnation of a member: `<host>_<8 hex digits>`.
// The number must be random, so that no identity is ever used twice.
func NewIdentity(host string, random uint32) string { return fmt.Sprintf("%s_%08x", host, random) }

// HostOf returns the host that an identity of ours names; empty for one that is not ours.
func HostOf(identity string) string {
	at := len(identity) - len("_00000000")
	if at < 1 || identity[at] != '_' {
		return ""
	}
	return identity[:at]
}

// OurForm says whether an identity has the form that members of ours use. A holder of
// that form never counts as a foreign elector. It runs at each sight of a lock, so it uses no
// regular expression; a test compares it with one.
func OurForm(identity string) bool {
	host := HostOf(identity)
	if host == "" || !alphanumeric(host[0]) || !alphanumeric(host[len(host)-1]) {
		return false
	}
	for _, c := range []byte(host) {
		if !alphanumeric(c) && c != '-' && c != '.' {
			return false
		}
	}
	for _, c := range []byte(identity[len(host)+1:]) {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' }
