package mutants_test

// foreignRows break rules of locks that foreign electors held.
var foreignRows = []row{
	{
		name: "foreign/many-have-a-name", rule: "claim-and-wait: an elector is not those for whom we have no name",
		file: "pkg/election/internal/machine/foreign.go",
		old:  "o.Identity == now.Identity && o.nameless == now.nameless",
		new:  "o.Identity == now.Identity",
		pkg:  "pkg/election/internal/machine", test: "TestManySuspectsAreOne",
	},
	{
		name: "foreign/many-are-the-latest", rule: "claim-and-wait: what is heard of one elector says nothing of others",
		file: "pkg/election/internal/machine/foreign.go",
		old:  "		others = []suspect{s.asOne(others)}\n",
		new:  "		now.Duration = max(now.Duration, s.asOne(others).Duration)\n		others = nil\n",
		pkg:  "pkg/election/internal/machine", test: "TestManySuspectsAreOne",
	},
	{
		name: "foreign/many-were-told-of", rule: "claim-and-wait: whom we saw ourselves we wait for on our own clock",
		file: "pkg/election/internal/machine/foreign.go",
		old:  "one.told && o.told, one.released && o.released",
		new:  "one.told, one.released && o.released",
		pkg:  "pkg/election/internal/machine", test: "TestManySuspectsAreOne",
	},
	{
		name: "foreign/many-have-stopped", rule: "claim-and-wait: of several none has stopped unless all have",
		file: "pkg/election/internal/machine/foreign.go",
		old:  "one.told && o.told, one.released && o.released",
		new:  "one.told && o.told, one.released",
		pkg:  "pkg/election/internal/machine", test: "TestManySuspectsAreOne",
	},
}
