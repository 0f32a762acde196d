package mutants_test

// placesRows break the rules of locks in other namespaces, and of the labels of leaders' Pods.
var placesRows = []row{
	{
		name: "places/a-namespace-is-not-part-of-a-lock", rule: "a reload that moves a lock to another namespace has no lock in common with the one before",
		file: "config/configuration.go",
		old:  "func (l Lock) LockName() LockName { return LockName{l.Kind, l.Namespace, l.Name} }", new: `func (l Lock) LockName() LockName { return LockName{l.Kind, "", l.Name} }`,
		pkg: "config", test: "TestPlanOfLocks",
	},
	{
		name: "places/by-session", rule: "a lock in another namespace is renewed by record: nothing orders its watch against that of the sessions",
		file: "config/election.go",
		old:  `Apart: e.Lock.Kind != DefaultLockKind || e.Lock.Namespace != ""`, new: "Apart: e.Lock.Kind != DefaultLockKind",
		pkg: "config", test: "TestPlaces",
	},
	{
		name: "places/relative-to-nothing", rule: "a configuration with a lock elsewhere says where the sessions are",
		file: "config/election.go",
		old:  `	case good && r.cfg.Namespace == "" && !r.obscure(fieldNamespace):`, new: "	case false:",
		pkg: "config", test: "TestEveryFieldWrong",
	},
	{
		name: "places/of-the-written-namespace", rule: "a lock in the sessions' namespace is beside them, however it is written",
		file: "config/election.go",
		old:  "	case namespace == r.cfg.Namespace:", new: "	case false:",
		pkg: "config", test: "TestPlanOfLocks",
	},
	{
		name: "places/a-stream-each", rule: "many locks in one other namespace share one watch",
		file: "pkg/election/lock/lease/shared.go",
		old:  "	if len(names) > MostStreams {", new: "	if len(names) > 1<<20 {",
		pkg: "pkg/election/lock/lease", test: "TestStreamsOfManyNames",
	},
	{
		name: "places/sessions-elsewhere", rule: "a policy for a namespace of locks alone guards no session of a group that has the same name",
		file: "pkg/election/fence/policy/guard.go",
		old:  `func (g Guard) atHome() bool { return g.Home == "" || g.Home == g.Namespace }`, new: "func (g Guard) atHome() bool { return true }",
		pkg: "pkg/election/fence/policy", test: "TestGuardElsewhere",
	},
	{
		name: "labels/whatever-the-version", rule: "a Pod that has begun to lead since it was listed keeps its label",
		file: "pkg/election/podlabel/labeller.go",
		old:  `"uid": pod.UID, "resourceVersion": pod.ResourceVersion,`, new: `"uid": pod.UID,`,
		pkg: "pkg/election/podlabel", test: "TestNewLeaderKeepsItsLabel",
	},
	{
		name: "labels/by-a-former-leader", rule: "only a member that still leads takes a label from another Pod",
		file: "pkg/election/podlabel/labeller.go",
		old:  "	now := maps.Clone(l.cfg.Wish().Leads)", new: "	now := maps.Clone(led)",
		pkg: "pkg/election/podlabel", test: "TestNewLeaderKeepsItsLabel",
	},
	{
		name: "labels/whatever-the-term", rule: "a member that began another term sets its label anew",
		file: "pkg/election/podlabel/labeller.go",
		old:  "	maps.DeleteFunc(l.sole, func(e string, t instant.Token) bool { return wish.Leads[e] != t })", new: "	maps.DeleteFunc(l.sole, func(e string, t instant.Token) bool { return wish.Leads[e] == 0 })",
		pkg: "pkg/election/podlabel", test: "TestLabelIsPutBack",
	},
	{
		name: "labels/left-behind", rule: "a member takes away what an earlier container of its Pod left",
		file: "pkg/election/podlabel/labeller.go",
		old:  "		l.on = l.labelsOf(pod)", new: "		l.on = map[string]bool{}",
		pkg: "pkg/election/podlabel", test: "TestLabels",
	},
	{
		name: "labels/of-other-groups", rule: "a member leaves the labels of other groups alone",
		file: "pkg/election/podlabel/labeller.go",
		old:  "ours && group == l.cfg.Group {", new: "ours && group != \"\" {",
		pkg: "pkg/election/podlabel", test: "TestLabels",
	},
	{
		name: "labels/one-by-one", rule: "transitions that come together are looked at once",
		file: "pkg/election/podlabel/labeller.go",
		old:  "		last = drained(transitions) || last\n", new: "",
		pkg: "pkg/election/podlabel", test: "TestOnePatch",
	},
	{
		name: "labels/without-limit", rule: "the requests of the process are limited",
		file: "pkg/election/podlabel/labeller.go",
		old:  "	l.tokens--\n", new: "",
		pkg: "pkg/election/podlabel", test: "TestOnePatch",
	},
	{
		name: "labels/hot-loop", rule: "a failed request is tried again later each time",
		file: "pkg/election/podlabel/labeller.go",
		old:  "min(max(first, 2*l.wait), longest)", new: "first",
		pkg: "pkg/election/podlabel", test: "TestFailures",
	},
	{
		name: "labels/another-pod-of-the-name", rule: "a Pod made anew under the same name is another Pod",
		file: "pkg/election/podlabel/labeller.go",
		old:  `map[string]any{"uid": l.cfg.UID, "labels": labels}`, new: `map[string]any{"uid": "another", "labels": labels}`,
		pkg: "pkg/election/podlabel", test: "TestFailures",
	},
	{
		name: "labels/unasked", rule: "nothing is sent while no election has a label",
		file: "pkg/election/podlabel/labeller.go",
		old:  "	if !wish.Asked && len(l.on) == 0 {", new: "	if false {",
		pkg: "pkg/election/podlabel", test: "TestNobodyAsked",
	},
	{
		name: "places/unseen-session-waited-out", rule: "owned-through-its-session: a lock is not waited out if we would not see the session that renews it",
		file: "pkg/election/internal/machine/lock.go",
		old:  "		if s.renewedUnseen() {\n			return 0, false\n		}\n",
		new:  "",
		pkg:  "pkg/election/internal/machine", test: "TestInteraction/session_of_another_place",
	},
	{
		name: "places/unseen-session-written-over", rule: "owned-through-its-session: nor is our name written back over its holder's",
		file: "pkg/election/internal/machine/lock.go",
		old:  " && s.now < s.validity.until && !s.renewedUnseen()",
		new:  " && s.now < s.validity.until",
		pkg:  "pkg/election/internal/machine", test: "TestInteraction/session_of_another_place",
	},
	{
		name: "places/sessions-of-another-place-count", rule: "owned-through-its-session: sessions of another place say nothing of who holds a lock",
		file: "pkg/election/internal/member/contest.go",
		old:  "		return machine.WithoutSessions\n",
		new:  "		return machine.ApartFromSessions\n",
		pkg:  "pkg/election", test: "TestASessionOfAnotherPlaceRenewsALock",
	},
	{
		name: "places/a-namespace-moves-the-locks", rule: "a reload, and validate --against, refuse another namespace of the sessions if locks would move with it at the restart",
		file: "config/plan.go",
		old:  "refused := written.refuseSpace(inForce)",
		new:  "var refused strict.Errors",
		pkg:  "config", test: "TestPlanOfSpaces",
	},
}
