package mutants_test

// parentRows break rules of a parent process.
var parentRows = []row{
	{
		name: "parent/hired-by-the-parent", rule: "nothing that a parent has started outlives it",
		file: "pkg/runners/parent/dead.go",
		old:  "looks < lastLooks && deadman",
		new:  "looks < 0 && deadman",
		pkg:  "pkg/runners/parent", test: "TestAKeyHurriesAParent",
	},
	{
		name: "parent/deaf-to-keys", rule: "a signal from a terminal hurries a parent whose member is dead",
		file: "pkg/runners/parent/signals.go",
		old:  " && !d.isDead()",
		new:  "",
		pkg:  "pkg/runners/parent", test: "TestAKeyHurriesAParent",
	},
	{
		name: "parent/ends-by-another-signal", rule: "a parent ends as its member ended, also by the signals for which Go prints stacks",
		file: "pkg/runners/parent/dead.go",
		old:  "		takeDefault(d.status.Signal())\n",
		new:  "",
		pkg:  "pkg/runners/parent", test: "TestTheMembersEnd",
	},
	{
		name: "parent/no-line-without-the-group", rule: "a member hears of its parent's end whether or not it has a control group",
		file: "pkg/runners/parent/parent.go",
		old:  "		case err != nil && s.Mode == cgroup.Always:\n",
		new:  "		case err != nil:\n			return nil, err\n		case err != nil && s.Mode == cgroup.Always:\n",
		pkg:  "pkg/runners/parent", test: "TestAMemberThatCannotJoinItsGroup",
	},
}
