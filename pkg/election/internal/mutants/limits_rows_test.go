package mutants_test

// limitsRows break rules of limits of process trees.
var limitsRows = []row{
	{
		name: "limits/after-the-birth", rule: "limits hold before the program begins",
		file: "pkg/runners/cgroup/limits.go",
		old:  "	for _, l := range limits {\n		for _, f := range l.files {\n",
		new:  "	for range limits {\n		for _, f := range [][2]string{} {\n",
		pkg:  "pkg/runners/cgroup", test: "TestLimitsComeFirst",
	},
	{
		name: "limits/watchers-inside", rule: "the limits of a program hit neither its guard nor its supervisor",
		file: "pkg/runners/cgroup/limits.go",
		old:  "		folder, err = os.OpenFile(watchers, ",
		new:  "		folder, err = os.OpenFile(within, ",
		pkg:  "pkg/runners/cgroup", test: "TestLimitsComeFirst",
	},
	{
		name: "limits/outside", rule: "a program is in the group with its limits before its first instruction",
		file: "pkg/runners/deadman/confine.go",
		old:  "	if err := c.join(); err != nil {\n		return err\n	}\n",
		new:  "",
		pkg:  "pkg/runners/deadman", test: "TestItJoinsFirst",
	},
	{
		name: "limits/another-user-cannot-join", rule: "a program of another user has its limits, too",
		file: "pkg/runners/deadman/confine.go",
		old:  "	if c.Within == \"\" {\n",
		new:  "	if c.Within == \"\" || c.User != nil {\n",
		pkg:  "pkg/runners/deadman", test: "TestItJoinsFirst",
	},
	{
		name: "limits/weaker-start", rule: "a program whose limits cannot be set does not start",
		file: "pkg/runners/deadman/adopt.go",
		old:  "	case tree != cgroup.Limits{}:\n",
		new:  "	case tree != cgroup.Limits{} && heir.group == \".\":\n",
		pkg:  "pkg/runners/deadman", test: "TestNoWeakerLimits",
	},
	{
		name: "limits/silence", rule: "limits that do not hold for the tree are told",
		file: "pkg/runners/child/confine.go",
		old:  "		say(weaker, \"limits.memory\", ",
		new:  "		say(func(error) {}, \"limits.memory\", ",
		pkg:  "pkg/runners/child", test: "TestWhereLimitsHold",
	},
	{
		name: "limits/neither", rule: "what does not hold for the tree holds for each process",
		file: "pkg/runners/child/confine.go",
		old:  "	if !holds(cgroup.Memory) {\n		add(",
		new:  "	if holds(cgroup.Memory) {\n		add(",
		pkg:  "pkg/runners/child", test: "TestWhereLimitsHold",
	},
	{
		name: "limits/another-blamed", rule: "a program that others' use of memory killed is not said to have exceeded its own limit",
		file: "pkg/runners/cgroup/limits.go",
		old:  " > 0 && memory[\"oom\"] == 0\n",
		new:  " > 1<<62 && memory[\"oom\"] == 0\n",
		pkg:  "pkg/runners/cgroup", test: "TestWhoseMemoryWasUsedUp",
	},
	{
		name: "limits/strangers-unit", rule: "a unit below a user's service manager is not divided",
		file: "pkg/runners/cgroup/divide.go",
		old:  "!delegated(own) && !isUnit(own) && delegated(above)",
		new:  "!delegated(own) && delegated(above)",
		pkg:  "pkg/runners/cgroup", test: "TestPlaces",
	},
	{
		name: "limits/parent-lost", rule: "a parent that cannot make way stays where it was",
		file: "pkg/runners/cgroup/limits.go",
		old:  "	err = errors.Join(err, write(top, procsFile, \"0\"))\n",
		new:  "",
		pkg:  "pkg/runners/cgroup", test: "TestOthersAreNotMoved",
	},
}
