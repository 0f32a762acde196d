package mutants_test

// operatorsRows break rules of drains, pauses and handovers.
var operatorsRows = []row{
	{
		name: "operators/drained-not-last", rule: "drained members come after all others to take a free lock",
		file: "pkg/priority/weighing.go",
		old:  "		return drained\n",
		new:  "		return 0\n",
		pkg:  "pkg/priority", test: "TestDrainDecides",
	},
	{
		name: "operators/drained-keeps", rule: "every other member outranks a drained one",
		file: "pkg/priority/weighing.go",
		old:  "		return drained < 0 && synced(preferred) && !absent(challenger.Key)\n",
		new:  "		return false\n",
		pkg:  "pkg/priority", test: "TestDrainDecides",
	},
	{
		name: "operators/paused-moves", rule: "nobody outranks anybody while the group is paused",
		file: "pkg/priority/weighing.go",
		old:  "	if preferred.Paused {\n",
		new:  "	if preferred.Paused && false {\n",
		pkg:  "pkg/priority", test: "TestDrainDecides",
	},
	{
		name: "operators/same-digest", rule: "members that see different drains, pauses or handovers have different digests",
		file: "pkg/revisions/rollout/plan.go",
		old:  "	p.foldAsked(h)\n",
		new:  "",
		pkg:  "pkg/revisions/rollout", test: "TestDrained",
	},
	{
		name: "operators/unread-moves", rule: "a member that never read a good document moves nothing",
		file: "pkg/revisions/rollout/plan.go",
		old:  "	if !synced(byDefault) || p.unreadableWord() != \"\" {\n",
		new:  "	if !synced(byDefault) {\n",
		pkg:  "pkg/revisions/rollout", test: "TestUnreadableWords",
	},
	{
		name: "operators/paused-rollout-fails", rule: "a rollout stands still while its group is paused",
		file: "pkg/revisions/rollout/advance.go",
		old:  "	case seen.Paused:\n		l.standStill()\n",
		new:  "",
		pkg:  "pkg/revisions/rollout", test: "TestPausedGroup",
	},
	{
		name: "operators/never-ends", rule: "what has an end ends without a change of the plan",
		file: "pkg/revisions/steering/source.go",
		old:  "	if !ends.IsZero() {\n",
		new:  "	if !ends.IsZero() && false {\n",
		pkg:  "pkg/revisions/steering", test: "TestPartsEnd",
	},
	{
		name: "operators/clock-set", rule: "an end by the wall clock is looked for again and again, since somebody may set the clock",
		file: "pkg/revisions/steering/source.go",
		old:  "min(ends.Sub(s.clock.Wall()), clockCheck)",
		new:  "ends.Sub(s.clock.Wall())",
		pkg:  "pkg/revisions/steering", test: "TestPartsEnd",
	},
	{
		name: "operators/handover-stays", rule: "nothing stays stored of a handover that is over",
		file: "cmd/primacy/app/handover.go",
		old:  "return p.HandedOver(h) }",
		new:  "return p, nil }",
		pkg:  "cmd/primacy/app", test: "TestHandovers",
	},
	{
		name: "operators/drained-preview", rule: "previews know drains: a pinned member that is drained keeps nothing",
		file: "cmd/primacy/app/rules.go",
		old:  "preferred.Pins(e.Holder) && !preferred.Drains(e.Holder) {",
		new:  "preferred.Pins(e.Holder) {",
		pkg:  "cmd/primacy/app", test: "TestDrains",
	},
	{
		name: "operators/another-handover", rule: "the end of a handover leaves a newer one alone",
		file: "pkg/revisions/rollout/asked.go",
		old:  "asked && now == h {\n",
		new:  "asked && now.Election == h.Election {\n",
		pkg:  "pkg/revisions/rollout", test: "TestHandedOver",
	},
	{
		name: "operators/end-brings-the-canary-back", rule: "no rollout is ended while a member sees its canary as the default",
		file: "cmd/primacy/app/rolloutwords.go",
		old:  "; seen == canary {",
		new:  `; seen == "" {`,
		pkg:  "cmd/primacy/app", test: "TestEndDoesNotBringTheCanaryBack",
	},
}
