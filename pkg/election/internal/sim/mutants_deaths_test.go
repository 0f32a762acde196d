package sim

// deathRows break rules of proofs and words.
var deathRows = []mutant{
	{
		name: "word-without-silence", rule: "words-need-silence", file: "internal/session/word.go",
		old: "	case sent.Sub(w.since) < w.quiet:\n",
		new: "	case sent.Sub(w.since) < 0*w.quiet:\n",
	},
	{
		name: "word-after-one-interval", rule: "words-need-silence", file: "internal/session/death.go",
		old: "t.ObserverWait(2 * r.Member.RenewInterval)",
		new: "t.ObserverWait(r.Member.RenewInterval)",
	},
	{
		name: "refuted-word-is-believed-later", rule: "words-need-silence", file: "internal/session/word.go",
		old: "		return 0, record.Record{}, changed(w.seen, e)\n",
		new: "		w.seen, w.since, w.death = e, sent, witnessed(e, w.death)\n		return Wait, record.Record{}, nil\n",
	},
	{
		name: "word-of-another-identity", rule: "words-need-silence", file: "internal/session/word.go",
		old: "	d.UID, d.Beat = seen.Version.UID, 0\n",
		new: "	d.Identity, d.UID, d.Beat = seen.Record.Holder, seen.Version.UID, 0\n",
	},
	{
		name: "outage-is-silence", rule: "words-need-silence", file: "internal/session/word.go",
		old: "	if w.cut || now.Sub(w.answered) > w.quiet/2 {\n",
		new: "	if w.cut && now.Sub(w.answered) > 1000*w.quiet {\n",
	},
	{
		name: "taint-of-what-beat-after-it", rule: "words-need-silence", file: "internal/session/word.go",
		old: " && e.Version.Revision < t.At\n",
		new: " && t.At > 0\n",
	},
	{
		name: "unlisted-proof", rule: "proof-not-patience", file: "internal/session/death.go",
		old: "	case !slices.Contains(r.Member.Proofs, d.Proof):\n",
		new: "	case !slices.Contains(r.Member.Proofs, d.Proof) && false:\n",
	},
	{
		name: "ended-is-proof", rule: "proof-not-patience", file: "internal/machine/sessions.go",
		old: "		if s.freedByProof(r) {\n",
		new: "		if s.freedByProof(r) || s.bySession(r, uid) == Orphaned {\n",
	},
	{
		name: "slot-reused-is-proof", rule: "proof-not-patience", file: "internal/machine/sessions.go",
		old: "		if s.freedByProof(r) {\n",
		new: "		if o := s.View.Sessions[s.beside(r).Session]; s.freedByProof(r) || o.UID == s.beside(r).SessionUID && o.Holder != \"\" && o.Holder != r.Holder {\n",
	},
	{
		name: "death-of-another-is-proof", rule: "proof-not-patience", file: "internal/machine/death.go",
		old: "		if d.Identity == r.Holder {\n",
		new: "		if d.Identity != \"\" {\n",
	},
	{
		name: "word-frees-a-record", rule: "proof-not-patience", file: "internal/machine/death.go",
		old: "	return proved && !death.Proof.IsWord() && ",
		new: "	return proved && death.Proof != \"\" && ",
	},
	{
		name: "on-death-lease-is-ignored", rule: "proof-not-patience", file: "internal/member/contest.go",
		old: "		OnDeath:     e.OnDeath,\n",
		new: "",
	},
	{
		name: "on-death-lease-is-not-waited", rule: "proof-not-patience", file: "internal/machine/observe.go",
		old: "				k.since = max(k.since, s.spared(r))\n",
		new: "				k.since = max(k.since, 0*s.spared(r))\n",
	},
	{
		name: "edited-proof-is-no-death", rule: "proof-not-patience", file: "internal/machine/death.go", class: PutBack,
		old: "	if _, told := s.toldDeathOf(r); !told && ",
		new: "	if _, told := s.deathOf(r); !told && ",
	},
	{
		name: "range-freed-by-proof", rule: "proof-not-patience", file: "internal/machine/death.go", class: Moves,
		old: "		!s.cfg.Range && ",
		new: "		",
	},
	{
		name: "open-term-freed-by-proof", rule: "proof-not-patience", file: "internal/machine/death.go", class: Outages,
		old: "s.cfg.Outage.Mode != OutageFailOpen && ",
		new: "",
	},
	{
		name: "claim-freed-by-proof", rule: "proof-not-patience", file: "internal/machine/death.go",
		old: "r.Claim == nil && ",
		new: "",
	},
	{
		name: "shared-lock-freed-by-proof", rule: "proof-not-patience", file: "internal/machine/death.go",
		old: " && !s.mayBeForeign()\n",
		new: "\n",
	},
	{
		name: "foreign-past-is-not-noted", rule: "the-way-back-stays-open", file: "internal/machine/content.go",
		old: "			WasForeign:  s.wasForeign(),\n",
		new: "",
	},
	{
		name: "foreign-past-is-not-read", rule: "the-way-back-stays-open", file: "internal/machine/content.go",
		old: "	return r.Mark.WasForeign || !r.Bound()",
		new: "	return !r.Bound()",
	},
}
