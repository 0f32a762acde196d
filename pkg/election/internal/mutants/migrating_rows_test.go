package mutants_test

// migratingRows break rules of rolling updates from managers that elect by themselves (ctrl.Elections.MigrateFrom).
var migratingRows = []row{
	{
		name: "migrate-from/nobody-waits", rule: "controllers work only while their process holds the old Lease, too",
		file: "pkg/election/ctrl/migrate.go",
		old:  "	for {\n		within, err := m.from.enter(ctx, term.Identity)\n",
		new:  "	for {\n		if m.from != nil {\n			return m.work.Run(ctx, term)\n		}\n		within, err := m.from.enter(ctx, term.Identity)\n",
		pkg:  "pkg/election/ctrl", test: "TestMigration",
	},
	{
		name: "migrate-from/outlives-the-old-lease", rule: "controllers stop when their process loses the old Lease",
		file: "pkg/election/ctrl/migrate.go",
		old:  "	defer context.AfterFunc(within.ctx, func() { cancel(context.Cause(within.ctx)) })()\n",
		new:  "",
		pkg:  "pkg/election/ctrl", test: "TestMigration",
	},
	{
		name: "migrate-from/work-is-not-awaited", rule: "the old Lease is released only when the last controller has stopped",
		file: "pkg/election/ctrl/migrate.go",
		old:  "	now.works.Wait()\n",
		new:  "",
		pkg:  "pkg/election/ctrl", test: "TestMigration",
	},
	{
		name: "migrate-from/moves-are-failures", rule: "a move is no failure of the controllers, after which they would wait longer each time",
		file: "pkg/election/ctrl/migrate.go",
		old:  "		return handsOver\n",
		new:  "		return 0\n",
		pkg:  "pkg/election/ctrl", test: "TestMovesBackAndForth",
	},
	{
		name: "migrate-from/one-lease-for-both", rule: "no controller has the old Lease as the lock of its own election",
		file: "pkg/election/ctrl/migrate.go",
		old:  "	return isLease && otherIs && where == there || p.lock.Locks == other.Locks\n",
		new:  "	return false && isLease && otherIs && where == there\n",
		pkg:  "pkg/election/ctrl", test: "TestMistakesInMigrateFrom",
	},
	{
		name: "migrating/old-lock-tells-the-host", rule: "the host hears of a migrating term what holds for both locks",
		file: "pkg/election/internal/member/timers.go",
		old:  "		m.tendMove(c)\n		m.tendAlarm(c)\n",
		new:  "		m.tendMove(c)\n		m.notice(c)\n",
		pkg:  "pkg/election/internal/member", test: "TestTheHostHearsOfATermFromTheInnerContest",
	},
}
