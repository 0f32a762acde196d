package mutants_test

// reloadRows break rules of configurations, and of their changes while a member runs.
var reloadRows = []row{
	{
		name: "reload/changed-unseen", rule: "a changed election is taken up",
		file: "config/plan.go",
		old:  "			if step.Fields == nil {\n",
		new:  "			if true {\n",
		pkg:  "config", test: "TestEveryFieldIsClassified",
	},
	{
		name: "reload/refused-is-current", rule: "later changes are compared with what is in force, not with what was refused",
		file: "cmd/primacy/app/reload.go",
		old:  "	if err := r.elections.Apply(next.change()); err != nil {\n",
		new:  "	r.inForce = next.Next\n	if err := r.elections.Apply(next.change()); err != nil {\n",
		pkg:  "cmd/primacy/app", test: "TestReloadOfWhatWasRefused",
	},
	{
		name: "reload/default-kept", rule: "a changed source of the preferred revision is used",
		file: "cmd/primacy/app/reload.go",
		old:  "		r.source.Use(next.made.source)\n",
		new:  "",
		pkg:  "cmd/primacy/app", test: "TestReloadOfTheDefaultRevision",
	},
	{
		name: "reload/migration-unseen", rule: "a migration that was added is a change",
		file: "config/fields.go",
		old:  "	if l.MigrateFrom == nil {\n",
		new:  "	if true {\n",
		pkg:  "config", test: "TestEveryFieldIsClassified",
	},
	{
		name: "reload/said-before-it-is-in-force", rule: "a change is said to be in force when nothing of the configuration before is at work",
		file: "pkg/election/exchange.go",
		old:  "	if len(m.heirs) > 0 || m.givenUp > 0 {\n",
		new:  "	if false {\n",
		pkg:  "cmd/primacy/app", test: "TestStepsOfAMoveInAHurry",
	},
	{
		name: "validate/default-as-lock", rule: "no election has its lock in the ConfigMap that holds the default revision",
		file: "cmd/primacy/app/plan.go",
		old:  "		note(notDefaults(c, e))\n",
		new:  "",
		pkg:  "cmd/primacy/app", test: "TestAConfigMapThatIsRead",
	},
	{
		name: "reload/way-leads-elsewhere", rule: "a file is followed although a link on the way to it leads elsewhere now",
		file: "internal/watchfile/watchfile.go",
		old:  "d.watched != nil && os.SameFile(d.watched, now) && slices.Contains(d.notify.WatchList(), d.path)",
		new:  "d.watched != nil && slices.Contains(d.notify.WatchList(), d.path)",
		pkg:  "internal/watchfile", test: "TestEventsOfWhereTheWayLeads",
	},
	{
		name: "reload/looks-only-when-it-stirs", rule: "a file is looked at twice a minute although no event tells of it",
		file: "internal/watchfile/watchfile.go",
		old:  "			wait := anew\n",
		new:  "			wait := 1000 * anew\n",
		pkg:  "internal/watchfile", test: "TestTheWayLeadsElsewhere",
	},
	{
		name: "ranges/a-sessions-year-counts", rule: "ranges that are turned on begin in the present, although the session-renewed lock states a year",
		file: "pkg/election/record/record.go",
		old:  "	case r.Bound() && r.ThroughSession():\n",
		new:  "	case false:\n",
		pkg:  "pkg/election", test: "TestRangesBegunLater",
	},
	{
		name: "ranges/a-strangers-year-counts", rule: "a stranger's edit of a duration moves ranges by an hour at most",
		file: "pkg/election/record/record.go",
		old:  "		end = end.Add(min(max(r.Duration, r.Mark.Duration), MaxLeaseDuration))\n",
		new:  "		end = end.Add(max(r.Duration, r.Mark.Duration))\n",
		pkg:  "pkg/election/record", test: "TestRangeEnd",
	},
}
