package mutants_test

// steeringRows break rules of pins, rollouts and the default source.
var steeringRows = []row{
	{
		name: "steering/default-before-plan", rule: "nothing is preferred before both sources have spoken",
		file: "pkg/revisions/steering/source.go",
		old:  "		if sight.Plan != nil {\n",
		new: `		if sight.Plan == nil {
			sight.Plan = &rollout.Plan{}
		}
		if sight.Default != nil {
`,
		pkg: "pkg/revisions/steering", test: "TestNothingBeforeThePlan",
	},
	{
		name: "steering/words-wait-for-the-default", rule: "drains and pauses count while the default source is silent",
		file: "pkg/revisions/steering/source.go",
		old:  "		if sight.Plan != nil {\n",
		new:  "		if sight.Plan != nil && sight.Default != nil {\n",
		pkg:  "pkg/revisions/steering", test: "TestWordsBeforeTheDefault",
	},
	{
		name: "steering/malformed-forgets", rule: "what cannot be read leaves the last value",
		file: "pkg/revisions/steering/source.go",
		old:  "rollout.Read(data, l.last)",
		new:  "rollout.Read(data, rollout.Plan{})",
		pkg:  "pkg/revisions/steering", test: "TestMalformed",
	},
	{
		name: "steering/lost-update", rule: "a plan replaces only what was read",
		file: "pkg/revisions/steering/edit.go",
		old:  "	next.Data, next.Labels = data, s.labels(next.Labels)\n",
		new: `	next.Data, next.Labels = data, s.labels(next.Labels)
	next.ResourceVersion = ""
`,
		pkg: "pkg/revisions/steering", test: "TestReplaceIsConditional",
	},
	{
		name: "steering/unreadable-dropped", rule: "an edit leaves what it cannot read as it is stored",
		file: "pkg/revisions/steering/edit.go",
		old:  "		case slices.Contains(plan.Unreadable, key):",
		new:  "		case slices.Contains(plan.Unreadable, key) && false:",
		pkg:  "pkg/revisions/steering", test: "TestEditLeavesTheRestAlone",
	},
	{
		name: "steering/digest-without-default", rule: "members that see different defaults have different digests",
		file: "pkg/revisions/steering/source.go",
		old:  "Revision: byDefault.Digest()}",
		new:  "Revision: \"\"}",
		pkg:  "pkg/revisions/steering", test: "TestPins",
	},
	{
		name: "steering/flap-by-choice", rule: "what a member of the canary releases of its own accord it has not lost",
		file: "pkg/election/internal/machine/history.go",
		old:  "			case ReasonFailed, ReasonExpired, ReasonSession, ReasonBlind:\n",
		new:  "			default:\n",
		pkg:  "pkg/revisions/controller", test: "TestWhatIsNoFlap",
	},
	{
		name: "steering/flap-unseen", rule: "an election whose holder's session ended without a release was lost",
		file: "pkg/election/internal/machine/history.go",
		old:  "		case Orphaned.String():\n",
		new:  "		case \"nobody's\":\n",
		pkg:  "pkg/revisions/controller", test: "TestCanaryThatFlaps",
	},
	{
		name: "steering/slow-for-all", rule: "the canary is not blamed for renewals that are late for all",
		file: "pkg/revisions/rollout/check/renewals/renewals.go",
		old:  "		if 2*o.LongestSilence(silent) < silent {\n",
		new:  "		if o.Silent() <= o.Duration/2 {\n",
		pkg:  "pkg/revisions/controller", test: "TestRenewalsThatAreLateForAll",
	},
	{
		name: "steering/taken-all-the-same", rule: "no-takeover: nobody takes a lock that it does not hold",
		file: "pkg/election/internal/machine/follow.go",
		old:  "	if s.cfg.Preferred.NoTakeover {\n",
		new:  "	if s.cfg.Preferred.NoTakeover && s.Lock.Owner == Free {\n",
		pkg:  "pkg/election/internal/machine", test: "TestInteraction/no_takeover",
	},
	{
		name: "steering/taken-from-the-queue", rule: "no-takeover: nobody takes a lock that it does not hold, also if it asked for that before the word",
		file: "pkg/election/internal/member/queue.go",
		old:  " ||\n		a.purpose == machine.Take && known.Owner != machine.Mine && a.contest.preferred.revision.NoTakeover\n",
		new:  "\n",
		pkg:  "pkg/election/internal/member", test: "TestNobodyTakesMeanwhile",
	},
	{
		name: "steering/place-without-its-turn", rule: "no-takeover: once the word ends, members come in their order to a lock that expired meanwhile",
		file: "pkg/election/internal/machine/follow.go",
		old:  "	case Free, Orphaned, Other:",
		new:  "	case Free, Orphaned:",
		pkg:  "pkg/election", test: "TestMembersComeInOrderOnceTakeoversAreAllowed",
	},
	{
		name: "steering/nominee-without-its-turn", rule: "no-takeover: once the word ends, the nominee has its turn",
		file: "pkg/election/internal/machine/follow.go",
		old:  "	s.noLongerWithheld()\n",
		new:  "",
		pkg:  "pkg/election/internal/machine", test: "TestInteraction/no_takeover",
	},
	{
		name: "rollout/default-of-one-attempt", rule: "each attempt of a rollout makes its canary the default",
		file: "pkg/revisions/controller/look.go",
		old:  "attempt{spec.UID, spec.Retry}",
		new:  "attempt{spec.UID, 0}",
		pkg:  "pkg/revisions/controller", test: "TestDefaultOfALaterAttempt",
	},
	{
		name: "rollout/outage-counts-as-delay", rule: "a canary fails to acquire only in time that the controller saw",
		file: "pkg/revisions/rollout/check/acquired/acquired.go",
		old:  "		if s.Seen.Since.After(began) {\n",
		new:  "		if false {\n",
		pkg:  "pkg/revisions/controller", test: "TestOutageIsNoFailure",
	},
	{
		name: "rollout/outages-are-flaps", rule: "a loss that members of stable had too is the API server's",
		file: "pkg/revisions/rollout/check/flaps/flaps.go",
		old:  " && !stableLost(s, at)",
		new:  "",
		pkg:  "pkg/revisions/controller", test: "TestOutagesAreNoFlaps",
	},
	{
		name: "rollout/bystander-holds-a-move", rule: "only the two members of a move must see the same preference",
		file: "pkg/revisions/controller/pace.go",
		old:  "for _, identity := range []string{holder, successor} {",
		new:  "for identity := range m.eyes.views {",
		pkg:  "pkg/revisions/controller", test: "TestBystanderThatIsBehind",
	},
	{
		name: "rollout/late-canary-stays-out", rule: "an election without a ready canary moves later, also while a pause lasts",
		file: "pkg/revisions/rollout/advance.go",
		old:  "	l.grow() // a pause or an analysis, too,",
		new:  "	if k := l.step().Kind(); k != StepPause && k != StepAnalysis {\n		l.grow()\n	}\n	//",
		pkg:  "pkg/revisions/rollout", test: "TestReadyDuringPause",
	},
	{
		name: "preference/list-without-time", rule: "the list of a big cluster is heard although it takes long",
		file: "internal/listwatch/listwatch.go",
		old:  "	listTime = 30 * time.Second\n",
		new:  "	listTime = 10 * time.Second\n",
		pkg:  "internal/listwatch", test: "TestSlowList",
	},
	{
		name: "preference/list-without-an-answer", rule: "a list that nobody answers is begun anew",
		file: "internal/listwatch/listwatch.go",
		old:  "context.WithTimeout(ctx, listTime)",
		new:  "context.WithTimeout(ctx, 10000*listTime)",
		pkg:  "internal/listwatch", test: "TestSlowList",
	},
	{
		name: "preference/watch-without-an-answer", rule: "a watch that nobody answers is begun anew",
		file: "internal/listwatch/listwatch.go",
		old:  "late := clock.AfterFunc(openTime,",
		new:  "late := clock.AfterFunc(10000*openTime,",
		pkg:  "pkg/revisions/object", test: "TestWatchThatNobodyAnswers",
	},
	{
		name: "preference/watch-without-an-end", rule: "a watch that nobody ends is begun anew",
		file: "internal/listwatch/listwatch.go",
		old:  "	defer over.Stop()\n",
		new:  "	over.Stop()\n",
		pkg:  "pkg/revisions/object", test: "TestWatchThatNeverEnds",
	},
	{
		name: "steering/pause-ends-unheard", rule: "a pause that ends is delivered although a part of the plan is unreadable",
		file: "pkg/revisions/rollout/plan.go",
		old:  "	case word != \"\" && !p.asked():\n",
		new:  "	case word != \"\":\n",
		pkg:  "pkg/revisions/steering", test: "TestAPauseEndsBesideWhatIsUnreadable",
	},
}
