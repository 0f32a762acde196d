package mutants_test

// sweepRows break rules of the removal of sessions that have ended (decision 45).
var sweepRows = []row{
	{
		name: "sweep/lapsed", rule: "only a session that has ended is removed",
		file: "pkg/election/sweep/ended.go",
		old:  "		if !r.Released() {\n",
		new:  "		if !r.Released() && r.Holder == \"\" {\n",
		pkg:  "pkg/election/sweep", test: "TestASessionGoesInTheEnd",
	},
	{
		name: "sweep/host-lives", rule: "the sessions of a host stay while one of them has not ended",
		file: "pkg/election/sweep/ended.go",
		old:  "			kept[host] = fmt.Sprintf(\"session %s of its host has not ended\", e.Name)\n",
		new:  "",
		pkg:  "pkg/election/sweep", test: "TestWhatMayGo",
	},
	{
		name: "sweep/told-of", rule: "a session stays while a lock tells of a member of its host",
		file: "pkg/election/sweep/ended.go",
		old:  "cmp.Or(told[e.Name], told[host])",
		new:  "told[e.Name]",
		pkg:  "pkg/election/sweep", test: "TestWhatMayGo",
	},
	{
		name: "sweep/named", rule: "a session stays while a lock names it",
		file: "pkg/election/sweep/ended.go",
		old:  "cmp.Or(told[e.Name], told[host])",
		new:  "told[host]",
		pkg:  "pkg/election/sweep", test: "TestWhatMayGo",
	},
	{
		name: "sweep/elsewhere", rule: "locks of other kinds count as well",
		file: "pkg/election/sweep/ended.go",
		old:  "tellers(slices.Concat(leases, elsewhere))",
		new:  "tellers(leases)",
		pkg:  "pkg/election/sweep", test: "TestALockElsewhereKeepsIt",
	},
	{
		name: "sweep/one-lease", rule: "a session is seen unchanged for as long as others wait by what it says: two of its longest leases",
		file: "pkg/election/sweep/ended.go",
		old:  "t.ObserverWait(2 * max(",
		new:  "t.ObserverWait(1 * max(",
		pkg:  "pkg/election/sweep", test: "TestTheEndIsSeen",
	},
	{
		name: "sweep/fast-clocks", rule: "the clock of who removes a session may be fast, and those of others slow",
		file: "pkg/election/sweep/ended.go",
		old:  "	return t.ObserverWait(wait)\n",
		new:  "	return wait\n",
		pkg:  "pkg/election/sweep", test: "TestTheEndIsSeen",
	},
	{
		name: "sweep/seen-as-it-is", rule: "a session is watched anew after each change",
		file: "pkg/election/sweep/sweeper.go",
		old:  "		if seen.version != e.Version {\n",
		new:  "		if seen.at == 0 {\n",
		pkg:  "pkg/election/sweep", test: "TestAChangeStartsTheWatchAnew",
	},
	{
		name: "sweep/a-lock", rule: "no lock is removed, whatever a stranger publishes on it",
		file: "pkg/election/sweep/ended.go",
		old:  " || !strings.HasPrefix(e.Name, session.Prefix(group))",
		new:  " || !strings.HasPrefix(e.Name, session.Prefix(group)[:0])",
		pkg:  "pkg/election/sweep", test: "TestWhatMayGo",
	},
	{
		name: "sweep/unasked", rule: "members delete nothing unless their configuration asks for it",
		file: "cmd/primacy/app/sweep.go",
		old:  "!m.process.Configuration.Member.RemoveSessions || !can",
		new:  "!can",
		pkg:  "cmd/primacy/app", test: "TestMembersRemoveSessions",
	},
	{
		name: "sweep/other-kinds", rule: "a member reads its locks of other kinds before it removes a session",
		file: "cmd/primacy/app/sweep.go",
		old:  "		if s == nil || s == sessions {\n",
		new:  "		if s != nil {\n",
		pkg:  "cmd/primacy/app", test: "TestMembersRemoveSessions",
	},
	{
		name: "sweep/removes-what-changed", rule: "a session is removed only as it was seen",
		file: "pkg/election/lock/memory/realm.go",
		old:  "	case o.entry.Version != is:\n		return lock.ErrConflict\n	}\n	delete",
		new:  "	case o.entry.Version == record.Version{}:\n		return lock.ErrConflict\n	}\n	delete",
		pkg:  "pkg/election/sweep", test: "TestOnlyWhatWasSeenIsRemoved",
	},
}
