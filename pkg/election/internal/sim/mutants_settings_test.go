package sim

// settingsRows break what members keep of a contest whose settings were changed.
var settingsRows = []mutant{
	{
		name: "exchanged-counts-anew", rule: "newer-by-version", file: "internal/member/elections.go", class: Settings,
		old: "	m.gone[c.lock] = gone{c.state.LastBeat(), ",
		new: "	m.gone[c.lock] = gone{0, ",
	},
	{
		name: "exchanged-keeps-the-first-grace", rule: "dead-by-the-deadline", file: "internal/member/elections.go", class: Settings,
		old: "		m.longestGrace = max(m.longestGrace, election.Timing.StopGrace)\n",
		new: "		if m.longestGrace == 0 {\n			m.longestGrace = election.Timing.StopGrace\n		}\n",
	},
	{
		name: "exchanged-knows-of-no-lock", rule: "absence-counts", file: "internal/member/elections.go", class: Settings,
		old: "	s.absences.notes(c.lock.name, c.name())\n",
		new: "",
	},
	{
		name: "exchanged-waits-by-own-renewal", rule: "owned-through-its-session", file: "internal/machine/sessions.go", class: Settings,
		old: "	if s.beside(r).Renewal != record.RenewalSession {\n",
		new: "	if s.cfg.Renewal == record.RenewalRecord {\n",
	},
}
