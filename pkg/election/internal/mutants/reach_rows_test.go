package mutants_test

// reachRows break rules of terms that the beats of a session renew.
var reachRows = []row{
	{
		name: "reach/guard-not-set-anew", rule: "dead-by-the-deadline: the guard of all goes by the last beat",
		file: "pkg/election/reach.go",
		old:  "		r.guard.Reset(left)\n",
		new:  "",
		pkg:  "pkg/election", test: "TestTermsGoByOneReach",
	},
	{
		name: "reach/a-longer-grace-is-not-heeded", rule: "dead-by-the-deadline: the guard of all goes by the longest grace",
		file: "pkg/election/reach.go",
		old:  "r.guard == nil || w.grace > r.grace",
		new:  "r.guard == nil",
		pkg:  "pkg/election", test: "TestALongerGraceJoins",
	},
	{
		name: "reach/joined-after-stop", rule: "dead-by-the-deadline: work that was told to stop goes by no beat",
		file: "pkg/election/work.go",
		old: `	if w.stop != nil || w.returned {
		return
	}
	w.leaveReach()
	w.reach = r`,
		new: `	w.leaveReach()
	w.reach = r`,
		pkg: "pkg/election", test: "TestLeavesTheReach",
	},
	{
		name: "reach/returned-is-kept", rule: "the reach of a session keeps no work that has returned",
		file: "pkg/election/work.go",
		old:  "			w.leaveReach() // else the reach would keep it for ever\n",
		new:  "",
		pkg:  "pkg/election", test: "TestLeavesTheReach",
	},
	{
		name: "forged/session-believed", rule: "observers-clock: what a stranger makes of the mark extends nothing",
		file: "pkg/election/internal/machine/lock.go",
		old:  "return l.ThroughSession() && l.Record.ThroughSession()",
		new:  "return l.Record.ThroughSession()",
		pkg:  "pkg/election", test: "TestForgedToASession",
	},
	{
		name: "forged/record-not-renewed", rule: "observers-clock: who came after the edit sees renewals, too",
		file: "pkg/election/internal/machine/lock.go",
		old:  "return l.ThroughSession() && l.Record.ThroughSession()",
		new:  "return l.ThroughSession()",
		pkg:  "pkg/election", test: "TestForgedToARecordBeforeSomebodyJoins",
	},
	{
		name: "timers/one-order-for-all", rule: "members that wait for the same locks write to them in orders of their own",
		file: "pkg/election/internal/member/timers.go",
		old:  "(uint64(c.place) + 1) * c.m.salt",
		new:  "uint64(c.place)",
		pkg:  "pkg/election/internal/member", test: "TestLotsDiffer",
	},
	{
		name: "reach/not-kept", rule: "dead-by-the-deadline: without a beat each is stopped in its own time",
		file: "pkg/election/reach.go",
		old:  "		w.keepApart()\n",
		new:  "		_ = w\n",
		pkg:  "pkg/election", test: "TestTermsGoByOneReach",
	},
	{
		name: "reach/followed-after-stop", rule: "dead-by-the-deadline: a beat extends nothing that was told to stop",
		file: "pkg/election/work.go",
		old:  "	w.stopBy.Store(int64(s.By))\n	w.leaveReach()\n",
		new:  "	w.stopBy.Store(int64(s.By))\n",
		pkg:  "pkg/election", test: "TestABeatInTheLastMoment",
	},
	{
		name: "reach/late-one-without-a-guard", rule: "dead-by-the-deadline: who joins late looks after itself",
		file: "pkg/election/work.go",
		old:  "	if r.calm() {",
		new:  "	if true {",
		pkg:  "pkg/election", test: "TestJoinsLate",
	},
	{
		name: "reach/gap-bridged", rule: "dead-by-the-deadline: after a gap no term of before is extended",
		file: "pkg/election/host.go",
		old:  "h.reach == nil || h.reach.since != do.Since",
		new:  "h.reach == nil",
		pkg:  "pkg/election", test: "TestTermsOfBeforeAGap",
	},
	{
		name: "reach/status-follows-its-own-lock-no-more", rule: "a term that is extended by itself goes by no beat",
		file: "pkg/election/validity.go",
		old:  "		s.extendLocked(v, ValidTerm{Deadline: deadline})\n",
		new:  "		s.extendLocked(v, ValidTerm{Deadline: deadline, reach: v.reach, jeopardy: v.jeopardy})\n",
		pkg:  "pkg/election", test: "TestStatusByBeats",
	},
}
