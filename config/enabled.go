package config

// enabled resolves whether there is an election at all, and refuses what nothing else than
// one can give.
func (r *resolver) enabled(at string, doc *electionDoc, e *Election) {
	if e.Disabled = doc.Enabled != nil && !*doc.Enabled; !e.Disabled {
		return
	}
	const hint = "leave out one of the two"
	if e.Range {
		r.clash(at+".range", hint, "with enabled: false, in line %d, every member would have the same range", r.line(at+".enabled"))
	}
	if e.Outage == OutageFailopen {
		r.clash(at+".outage", hint, "with enabled: false, in line %d, no outage stops the work, so it cannot fail open", r.line(at+".enabled"))
	}
}
