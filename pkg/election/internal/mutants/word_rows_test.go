package mutants_test

// wordRows break rules of words: deaths that somebody only says.
var wordRows = []row{
	{
		name: "word/needs-no-silence", rule: "words-need-silence: a session is ended only after two renewIntervals of silence",
		file: "pkg/election/word.go",
		old:  "		case sent.Sub(since) < quiet:\n",
		new:  "		case sent.Sub(since) < 0*quiet:\n",
		pkg:  "pkg/election", test: "TestAWordNeedsSilence",
	},
	{
		name: "word/one-interval", rule: "words-need-silence: two renewIntervals, not one",
		file: "pkg/election/internal/session/death.go",
		old:  "t.ObserverWait(2 * r.Member.RenewInterval)",
		new:  "t.ObserverWait(r.Member.RenewInterval)",
		pkg:  "pkg/election", test: "TestAWordNeedsSilence",
	},
	{
		name: "word/fast-clocks", rule: "words-need-silence: the clock of who waits may be fast",
		file: "pkg/election/internal/session/death.go",
		old:  "t.ObserverWait(2 * r.Member.RenewInterval)",
		new:  "2*r.Member.RenewInterval+0*t.LeaseDuration",
		pkg:  "pkg/election", test: "TestAWordNeedsSilence",
	},
	{
		name: "word/beats-are-ignored", rule: "words-need-silence: a beat after the word refutes it",
		file: "pkg/election/word.go",
		old:  "		case e.Version != seen.Version:\n",
		new:  "		case false:\n",
		pkg:  "pkg/election", test: "TestAWordIsRefuted",
	},
	{
		name: "word/follows-the-beats", rule: "words-need-silence: a beat refutes a word for good, and does not begin another silence",
		file: "pkg/election/word.go",
		old:  "			return fail(changed(seen, e))\n",
		new:  "			seen, since = e, sent\n			d = witnessed(seen, d)\n			continue\n",
		pkg:  "pkg/election", test: "TestAWordIsRefuted",
	},
	{
		name: "word/a-proof-like-others", rule: "words-need-silence: no word counts without a silence",
		file: "pkg/election/death.go",
		old:  "	if d.Proof.IsWord() {\n",
		new:  "	if false {\n",
		pkg:  "pkg/election", test: "TestWhatNoWordEnds",
	},
	{
		name: "word/of-another-beat", rule: "words-need-silence: the end names the beat that was seen with the word",
		file: "pkg/election/internal/session/death.go",
		old:  "	case d.Proof.IsWord() && (d.UID != v.UID || d.Beat != beatOf(r)):",
		new:  "	case false:",
		pkg:  "pkg/election/internal/session", test: "TestAWordNamesTheBeatThatItSaw",
	},
	{
		name: "word/gives-up", rule: "words-need-silence: a read that failed refutes nothing",
		file: "pkg/election/word.go",
		old:  "			last = err\n			continue\n",
		new:  "			return fail(err)\n",
		pkg:  "pkg/election", test: "TestWhatNoWordEnds",
	},
	{
		name: "word/is-always-accepted", rule: "proof-not-patience: a member accepts a word only if its configuration says so",
		file: "pkg/election/death.go",
		old:  "	return append([]record.Proof{ProofParent}, c.Words...)\n",
		new:  "	return append([]record.Proof{ProofParent, record.ProofOperator}, c.Words...)\n",
		pkg:  "pkg/election", test: "TestAParentIsToldFirst",
	},
	{
		name: "word/interval-unsaid", rule: "words-need-silence: a session that accepts words says how often it beats",
		file: "pkg/election/internal/session/death.go",
		old:  "	if m.AcceptsWords() {\n",
		new:  "	if false {\n",
		pkg:  "pkg/election", test: "TestASessionThatAcceptsWordsSaysHowOftenItBeats",
	},
	{
		name: "word/any-identity", rule: "words-need-silence: an operator types the exact identity",
		file: "cmd/primacy/app/burycommand.go",
		old:  "	case typed != shown.Identity:\n",
		new:  "	case false:\n",
		pkg:  "cmd/primacy/app", test: "TestScripts/^bury$",
	},
	{
		name: "word/identity-of-another", rule: "words-need-silence: the identity that a script gives is the session's",
		file: "cmd/primacy/app/burycommand.go",
		old:  "	if b.identity != \"\" && b.identity != shown.Identity {\n",
		new:  "	if false {\n",
		pkg:  "cmd/primacy/app", test: "TestScripts/^bury$",
	},
}
