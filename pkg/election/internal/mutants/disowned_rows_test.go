package mutants_test

// disownedRows break rules of locks that their holder cannot write and therefore disowns.
var disownedRows = []row{
	{
		name: "disowned/late-take-is-ours", rule: "disowned-for-good: a take that was disowned begins no term",
		file: "pkg/election/internal/machine/sessions.go",
		old:  "	case r.ThroughSession() && s.hasDisowned(uid, m.Beat):\n",
		new:  "	case false:\n",
		pkg:  "pkg/election/internal/machine", test: "TestInteraction",
	},
	{
		name: "disowned/of-any-lock", rule: "disowned-for-good: only of the lock that is named",
		file: "pkg/election/record/member.go",
		old:  "d.Lock == lock && beat <= d.Beat",
		new:  "beat <= d.Beat",
		pkg:  "pkg/election/internal/machine", test: "TestInteraction",
	},
	{
		name: "disowned/later-beats-too", rule: "disowned-for-good: a term under a later beat is its owner's",
		file: "pkg/election/record/member.go",
		old:  "d.Lock == lock && beat <= d.Beat",
		new:  "d.Lock == lock",
		pkg:  "pkg/election/internal/machine", test: "TestInteraction",
	},
	{
		name: "disowned/of-a-session-of-before", rule: "disowned-for-good: only of the session that says so",
		file: "pkg/election/internal/machine/sessions.go",
		old:  "	case !exists || o.UID != m.SessionUID:\n",
		new:  "	case !exists || o.UID != m.SessionUID && len(o.Disowned) == 0:\n",
		pkg:  "pkg/election/internal/machine", test: "TestInteraction",
	},
	{
		name: "disowned/ends-the-session", rule: "answer-for-your-writes: what cannot be released touches nothing else",
		file: "pkg/election/internal/member/handle.go",
		old:  "		m.disown(c.lock, a.Disowned)\n",
		new:  "		m.disown(c.lock, a.Disowned)\n		m.ending = machine.ReasonHeldOn\n",
		pkg:  "pkg/election", test: "TestALockThatCannotBeReleasedIsDisowned",
	},
	{
		name: "disowned/not-published", rule: "answer-for-your-writes: others hear of what is disowned",
		file: "pkg/election/internal/member/says.go",
		old:  "		Disowned: m.disownedNow(), Proofs:",
		new:  "		Proofs:",
		pkg:  "pkg/election", test: "TestALockThatCannotBeReleasedIsDisowned",
	},
	{
		name: "disowned/listed-for-ever", rule: "what another holds is listed no longer",
		file: "pkg/election/internal/member/disowned.go",
		old:  "		d.over = true\n",
		new:  "",
		pkg:  "pkg/election", test: "TestALockThatCannotBeReleasedIsDisowned",
	},
	{
		name: "disowned/written-again", rule: "what was disowned is no stray lock",
		file: "pkg/election/internal/member/strays.go",
		old:  "	if m.isDisowned(name, e) {",
		new:  "	if false {",
		pkg:  "pkg/election", test: "TestADisownedLockIsTakenBack",
	},
	{
		name: "disowned/older-members", rule: "answer-for-your-writes: beside an older member the session ends",
		file: "pkg/election/internal/member/disowned.go",
		old:  "listed > 0 && m.view.Older || ",
		new:  "",
		pkg:  "pkg/election", test: "TestWhatAnOlderMemberWaitsForEndsTheSession",
	},
	{
		name: "disowned/older-members-of-our-group", rule: "answer-for-your-writes: beside an older member of any group",
		file: "pkg/election/internal/session/directory.go",
		old:  "	return holder != \"\" && holder != without && ",
		new:  "	return holder != \"\" && holder != without && !d.isAlien(s) && ",
		pkg:  "pkg/election/internal/session", test: "TestDisownedBesideABeat",
	},
	{
		name: "disowned/too-much", rule: "answer-for-your-writes: what cannot be listed ends the session",
		file: "pkg/election/internal/member/disowned.go",
		old:  " || bytes > maxListed",
		new:  "",
		pkg:  "pkg/election", test: "TestTooMuchToDisownEndsTheSession",
	},
	{
		name: "disowned/by-a-stranger", rule: "observers-clock: what is disowned counts beside a beat",
		file: "pkg/election/internal/session/directory.go",
		old:  "s.duration, s.setup, s.disowned, s.deaths = before.duration, before.setup, before.disowned, before.deaths",
		new:  "s.duration, s.setup, s.deaths = before.duration, before.setup, before.deaths",
		pkg:  "pkg/election/internal/session", test: "TestDisownedBesideABeat",
	},
}
