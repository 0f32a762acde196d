package mutants_test

// livenessRows break what keeps elections led: by the preferred member, or at all.
var livenessRows = []row{
	{
		name: "succession/forgets-who-does-not-come", rule: "no-flapping: a holder does not hand over again and again to members that do not come, however many they are",
		file: "pkg/election/internal/machine/succession.go",
		old:  "const maxPassedOver = 256",
		new:  "const maxPassedOver = 16",
		pkg:  "pkg/election", test: "TestManyNomineesThatDoNotCome",
	},
	{
		name: "queue/mute-locks-go-first", rule: "locks whose requests get no answer hold up no others",
		file: "pkg/election/internal/member/queue.go",
		old:  "	case a.mute:\n		return kinds",
		new:  "	case false:\n		return kinds",
		pkg:  "pkg/election", test: "TestHungWritesHoldUpNoOthers",
	},
	{
		name: "queue/mute-renewals-wait", rule: "nothing holds up a renewal",
		file: "pkg/election/internal/member/queue.go",
		old:  "int{0, kinds, 1, kinds + 1, 2, 3,",
		new:  "int{0, 1, 2, 3, kinds, kinds + 1,",
		pkg:  "pkg/election/internal/member", test: "TestNothingHoldsUpARenewal",
	},
	{
		name: "queue/mute-locks-take-all-slots", rule: "locks whose requests get no answer leave slots to others",
		file: "pkg/election/internal/member/queue.go",
		old:  "laneSize - 2*renewalSlots",
		new:  "laneSize",
		pkg:  "pkg/election/internal/member", test: "TestMuteLocksLeaveSlots",
	},
	{
		name: "queue/reads-are-answered", rule: "an answered read does not say that writes of the lock are answered",
		file: "pkg/election/internal/member/queue.go",
		old:  "	case a.write != nil && ans.sent != 0:",
		new:  "	case ans.sent != 0:",
		pkg:  "pkg/election/internal/member", test: "TestWhatAnswers",
	},
	{
		name: "stream/silent-for-ever", rule: "a watch of locks that is behind a read for a leaseDuration is begun anew",
		file: "pkg/election/internal/machine/follow.go",
		old:  "Read{Behind: s.Behind()}",
		new:  "Read{}",
		pkg:  "pkg/election", test: "TestASilentWatchOfALockIsBegunAnew",
	},
	{
		name: "stream/broken-is-begun-anew", rule: "a watch that is known to be broken goes on by itself",
		file: "pkg/election/internal/member/watching.go",
		old:  "!s.listing && !s.cut {",
		new:  "!s.listing {",
		pkg:  "pkg/election/internal/member", test: "TestOnlyASilentWatchIsBegunAnew",
	},
	{
		name: "stream/unlisted-is-begun-anew", rule: "a watch that waits for its list is not begun anew",
		file: "pkg/election/internal/member/watching.go",
		old:  "!s.listing && !s.cut {",
		new:  "!s.cut {",
		pkg:  "pkg/election/internal/member", test: "TestOnlyASilentWatchIsBegunAnew",
	},
	{
		name: "migration/held-unseen", rule: "who does not see the new lock of a migration lets go of the old one",
		file: "pkg/election/internal/member/turned.go",
		old:  " || c.inner.state.Behind()",
		new:  "",
		pkg:  "pkg/election", test: "TestWhoCannotSeeTheNewLockLetsGo",
	},
	{
		name: "outage/released-is-held-off", rule: "a released lock need not wait after each break of the watch",
		file: "pkg/election/internal/machine/follow.go",
		old:  "	if s.Lock.Owner != Free || s.Lock.foreignRelease {",
		new:  "	if true {",
		pkg:  "pkg/election", test: "TestAReleasedLockWhoseTermsFailOpen",
	},
}
