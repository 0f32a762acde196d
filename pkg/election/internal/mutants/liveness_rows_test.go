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
}
