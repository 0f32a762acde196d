package sim

// putBackRows break what members do about locks that a stranger put back.
var putBackRows = []mutant{
	{
		name: "put-back-is-believed", rule: "loss-is-definite", file: "internal/machine/put_back.go", class: PutBack,
		old: "	case l.Owner == Other || l.Owner == Unowned:\n		s.undone(l.duration)\n",
		new: "	case l.Owner == Other || l.Owner == Unowned:\n",
	},
	{
		name: "put-back-after-it-lost-its-owner", rule: "unknown-is-waited-out", file: "internal/machine/put_back.go", class: PutBack,
		old: "		s.worksUntil(s.membersGone()) // whatever",
		new: "		// whatever",
	},
	{
		name: "put-back-after-a-death", rule: "proof-not-patience", file: "internal/machine/put_back.go", class: PutBack, from: 15800,
		old: "		s.worksUntil(l.since) // what",
		new: "		// what",
	},
	{
		name: "put-back-unseen", rule: "unknown-is-waited-out", file: "internal/machine/observe.go", class: PutBack, from: 1100,
		old: "	s.unheard() // a claim may be a new one from the same elector\n	s.missedForeign(e)\n	s.putBackUnseen(e)\n",
		new: "	s.unheard()\n	s.missedForeign(e)\n",
	},
	{
		name: "put-back-during-a-reload", rule: "unknown-is-waited-out", file: "internal/machine/observe.go", class: PutBack, from: 1100,
		old: "		s.continues(e)\n",
		new: "",
	},
	{
		name: "put-back-unseen-behind-a-read", rule: "unknown-is-waited-out", file: "internal/machine/put_back.go", class: PutBack, from: 16450,
		old: "	case (l.Version != e.Version || l.Owner == Other) && isNoLater(l.Record, r):\n",
		new: "",
	},
	{
		name: "put-back-in-history", rule: "unknown-is-waited-out", file: "internal/machine/observe.go", class: PutBack, from: 8500,
		old: "		s.undone(was.Mark.Duration)\n",
		new: "",
	},
	{
		name: "put-back-with-more-transitions", rule: "loss-is-definite", file: "internal/machine/put_back.go", class: PutBack, from: 700,
		old: "	case r.Token < before.Token || r.Transitions < before.Transitions:",
		new: "	case r.Transitions < before.Transitions:",
	},
	{
		name: "slot-left-in-doubt", rule: "a-session-ends-once", file: "internal/session/own.go", class: PutBack, from: 11661,
		old: "		if o.doubtful && free.Name != o.slot {\n",
		new: "		if false {\n",
	},
	{
		name: "put-back-session-frees", rule: "a-session-ends-once", file: "internal/machine/sessions.go", class: PutBack,
		old: "case o.robbedUntil(r.Holder) != 0:",
		new: "case false && o.robbedUntil(r.Holder) != 0:",
	},
}
