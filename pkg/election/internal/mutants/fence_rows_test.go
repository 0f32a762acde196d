package mutants_test

// fenceRows break rules of gates: what a term's work may do at its end.
var fenceRows = []row{
	{
		name: "fence/drain-joins-nothing", rule: "stop-before-release: a lock is not released while what Do called still runs",
		file: "pkg/election/fence/drain.go",
		old:  "	g.running.wait()\n",
		new:  "",
		pkg:  "pkg/election/fence", test: "TestDrainJoinsDo",
	},
	{
		name: "fence/grace-of-an-expired-term", rule: "dead-by-the-deadline: a term that could not be renewed has no grace",
		file: "pkg/election/grace.go",
		old:  " || !stop.kept {",
		new:  " {",
		pkg:  "pkg/election/fence", test: "TestNoGraceAfterLoss",
	},
	{
		name: "fence/grace-of-a-lost-lock", rule: "loss-is-definite: the grace is over once another holds the lock",
		file: "pkg/election/grace.go",
		old:  "	return !g.term.Fenced() || l.Identity == g.term.Identity && l.Token == g.term.lockToken\n",
		new:  "	return l.Token == l.Token\n",
		pkg:  "pkg/election/fence", test: "TestNoGraceAfterLoss",
	},
	{
		name: "fence/no-grace-in-a-migration", rule: "the token of the lock itself says whose it is, though a migration's term may have a higher one",
		file: "pkg/election/grace.go",
		old:  "l.Token == g.term.lockToken\n",
		new:  "l.Token == g.Token\n",
		pkg:  "pkg/election", test: "TestEachTermOfAMigrationHasAGrace",
	},
	{
		name: "fence/grace-without-end", rule: "dead-by-the-deadline: the grace ends with the stopGrace",
		file: "pkg/election/grace.go",
		old:  "clock.Until(g.term.status.shared.clock, g.By)",
		new:  "10*clock.Until(g.term.status.shared.clock, g.By)",
		pkg:  "pkg/election/fence", test: "TestDrainWrites",
	},
	{
		name: "fence/grace-for-everybody", rule: "stop-before-release: in the grace only the last function writes",
		file: "pkg/election/fence/drain.go",
		old:  "	grace := over.Grace(ctx)\n",
		new:  "	grace := over.Grace(ctx)\n	g.elections = nil\n",
		pkg:  "pkg/election/fence", test: "TestDrainWrites",
	},
	{
		name: "fence/stamps-come-first", rule: "tokens-rise: nothing in a JSON patch comes after the stamp",
		file: "pkg/election/fence/stamp.go",
		old:  "	return json.Marshal(append(operations, add))\n",
		new:  "	return json.Marshal(append([]json.RawMessage{add}, operations...))\n",
		pkg:  "pkg/election/fence", test: "TestStamping",
	},
}
