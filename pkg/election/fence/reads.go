package fence

import (
	"net/http"
	"strings"
)

// isRead says whether the request is known to change nothing. It allocates nothing.
func isRead(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions: // "" is GET
	default:
		return false
	}
	if req.URL == nil || req.URL.Opaque != "" {
		return false // the path is not in URL.Path
	}
	for name := range req.Header { // in upper or lower case
		if len(name) == len(upgrade) && strings.EqualFold(name, upgrade) {
			return false
		}
	}
	return !reachesThrough(req.URL.Path)
}

const upgrade = "Upgrade"

// reachesThrough says whether the path names a subresource behind which anything may happen,
// whatever the method. The API may be below a prefix.
func reachesThrough(path string) bool {
	p := segments{rest: path}
	if !p.mention() {
		return false // as nearly always
	}
	if !p.canonical() {
		return true // servers differ in how they read it
	}
	for p.rest != "" { // the API may begin anywhere, and a prefix may look like it
		inside := p
		switch inside.next() {
		case "api":
			if isVersion(inside.next()) && inside.reachThrough() {
				return true
			}
		case "apis":
			inside.next() // a group
			inside.next() // a version, named as they like
			if inside.reachThrough() {
				return true
			}
		}
		p.next()
	}
	return false
}

// reachThrough says whether what follows the group and version in the path names such a subresource.
func (p segments) reachThrough() bool {
	s := p.next()
	switch s {
	case "proxy": // a former verb
		return true
	case "watch":
		s = p.next()
	}
	if s == "namespaces" {
		inside := p
		inside.next() // the namespace's name
		if resource := inside.next(); resource != "" && resource != "status" && resource != "finalize" {
			p = inside
		}
	}
	p.next() // the object's name
	return isConnection(p.next())
}

// isConnection says whether a subresource reaches through to something else.
func isConnection(subresource string) bool {
	switch subresource {
	case "proxy", "exec", "attach", "portforward":
		return true
	}
	return false
}

// segments are the segments of a path that remain to be read.
type segments struct{ rest string }

// next takes the next segment; empty once there is none.
func (p *segments) next() string {
	s, rest, _ := strings.Cut(strings.TrimPrefix(p.rest, "/"), "/")
	p.rest = rest
	return s
}

// canonical says whether all servers read the path the same way.
func (p *segments) canonical() bool {
	return !strings.Contains(p.rest, "//") && !strings.Contains(p.rest, "/.")
}

// mention says whether any segment has the name of a subresource that reaches through.
func (p segments) mention() bool {
	for p.rest != "" {
		if isConnection(p.next()) {
			return true
		}
	}
	return false
}

// isVersion says whether s looks like v1, the core group's.
func isVersion(s string) bool {
	return len(s) > 1 && s[0] == 'v' && s[1] >= '0' && s[1] <= '9'
}
