package status

// alsoOf is the selected group, if its configuration names the lock and a member of another group holds it. A lock that
// nobody holds may have belonged to another group: this group's members take it. So do they once a holder no longer renews.
func (l seenLock) alsoOf(s Selection) string {
	held := l.row.State == Led && !l.row.Stale || l.row.State == Claiming
	if !held || !l.main || s.Group == "" || l.row.Group == s.Group {
		return ""
	}
	return s.Group
}

// ofOthers is the note on a lock that two groups share; empty if they do not.
func (e Election) ofOthers() string {
	if e.AlsoOf == "" {
		return ""
	}
	return "two groups cannot share a lock: a member of group " + e.Group + " holds it, and none of " + e.AlsoOf
}
