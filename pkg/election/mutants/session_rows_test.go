package mutants_test

// sessionRows break rules of a member's session and the directory of all.
var sessionRows = []row{
	{
		name: "session/beat-counts-when-seen", rule: "a beat is worth what it is from when it was sent",
		file: "pkg/election/session/own.go",
		old:  "Sent: o.sent[i].at}",
		new:  "Sent: now}",
		pkg:  "pkg/election/session", test: "TestABeatIsWorthFromWhenItWasSent",
	},
	{
		name: "session/recreated-is-ours", rule: "a session object that was made anew is none of ours",
		file: "pkg/election/session/own.go",
		old:  " || o.uid != \"\" && o.uid != v.UID {",
		new:  " {",
		pkg:  "pkg/election/session", test: "TestAnObjectMadeAnewIsNoneOfOurs",
	},
	{
		name: "session/doubtful-join", rule: "a session that may have been made and ended meanwhile is lost",
		file: "pkg/election/session/own.go",
		old:  "		case o.doubtful && (s == nil && !o.onto.IsZero() || s != nil && s.version != o.onto):",
		new:  "		case false:",
		pkg:  "pkg/election/session", test: "TestASessionThatMayHaveEnded",
	},
	{
		name: "session/leaves-a-session-behind", rule: "a session whose first write is under way is ended, not forgotten",
		file: "pkg/election/session/own.go",
		old:  "	case o.phase == joining && o.inFlight == 0 && o.read == notNeeded:",
		new:  "	case o.phase == joining:",
		pkg:  "pkg/election/session", test: "TestLeavingWhileTheSessionIsMade",
	},
	{
		name: "session/own-patience", rule: "a session is waited for as long as its owner says",
		file: "pkg/election/session/directory.go",
		old:  "max(d.timing.LeaseDuration, s.duration)",
		new:  "d.timing.LeaseDuration",
		pkg:  "pkg/election/session", test: "TestADurationCountsBesideItsBeat",
	},
	{
		name: "session/ended-without-proof", rule: "nobody ends a session before its stream has shown a beat that went out later",
		file: "pkg/election/session/directory.go",
		old:  "		case d.provenAt >= end:",
		new:  "		case true:",
		pkg:  "pkg/election/session", test: "TestNobodyIsEndedWithoutProof",
	},
	{
		name: "session/edit-prolongs", rule: "an edit by a stranger is no beat",
		file: "pkg/election/session/directory.go",
		old:  "			s.changedAt = before.changedAt\n",
		new:  "			_ = s.changedAt\n",
		pkg:  "pkg/election/session", test: "TestADurationCountsBesideItsBeat",
	},
	{
		name: "session/ends-twice", rule: "a session that is its owner's again after its end is not trusted",
		file: "pkg/election/session/directory.go",
		old:  "		s.ended, s.tampered = before.ended, before.ended",
		new:  "		s.ended = before.ended",
		pkg:  "pkg/election/session", test: "TestTamperedIsAboutThePresentOwner",
	},
	{
		name: "session/restored-unseen-by-read", rule: "a read that shows less than was known means a store that was restored",
		file: "pkg/election/session/directory.go",
		old:  "	if known != nil && known.outlived(v) && known.at < sent || ",
		new:  "	if ",
		pkg:  "pkg/election/session", test: "TestWhatCannotBeEndedIsRead",
	},
	{
		name: "session/older-list-passes", rule: "a list of before a session that was seen earlier means a store that was restored",
		file: "pkg/election/session/directory.go",
		old:  "		if s.version.Revision > revision && s.at < sent {\n",
		new:  "		if s.version.Revision > revision && s.at < sent && false {\n",
		pkg:  "pkg/election/session", test: "TestAListOfBeforeASession",
	},
	{
		name: "session/stale-absence-removes", rule: "a read that found nothing says nothing of what was seen since it was sent",
		file: "pkg/election/session/directory.go",
		old:  "s != nil && s.at <= sent {",
		new:  "s != nil {",
		pkg:  "pkg/election/session", test: "TestAReadOfBeforeASession",
	},
	{
		name: "session/never-forgiven", rule: "a later session that was forgiven, and that its owner ended, makes up for those that fell before it",
		file: "pkg/election/session/own.go",
		old:  " || s.version.Revision < forgiven {",
		new:  " {",
		pkg:  "pkg/election", test: "TestForgivenMemberLeaves",
	},
}
