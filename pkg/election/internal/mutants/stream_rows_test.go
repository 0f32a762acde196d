package mutants_test

// streamRows break rules of following a store, and of requests to an API server.
var streamRows = []row{
	{
		name: "follow/expired-not-forgotten", rule: "a stream whose revision is gone begins with a list",
		file: "pkg/election/internal/follow/follow.go",
		old:  "errors.Is(err, ErrExpired) || ",
		new:  "",
		pkg:  "pkg/election/internal/follow", test: "TestRun/what_is_forgotten_is_listed,_whether_the_stream_says_so_or_its_opening",
	},
	{
		name: "follow/listing-told-late", rule: "Listing comes before the list is requested",
		file: "pkg/election/internal/follow/follow.go",
		old: `	f.deliver(lock.Event{Kind: lock.Listing})
	listing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	impatient := f.hurry(cancel)
	list, err := f.source.List(listing, func() {
		if impatient.Reset(f.patience) { // else it is too late
			f.deliver(lock.Event{Kind: lock.Progressed})
		}
	})
`,
		new: `	listing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	impatient := f.hurry(cancel)
	list, err := f.source.List(listing, func() {
		if impatient.Reset(f.patience) { // else it is too late
			f.deliver(lock.Event{Kind: lock.Progressed})
		}
	})
	f.deliver(lock.Event{Kind: lock.Listing})
`,
		pkg: "pkg/election/internal/follow", test: "TestSlowAnswers/a_list_takes_3_s",
	},
	{
		name: "follow/endless-patience", rule: "a list or the opening of a stream that hangs is given up",
		file: "pkg/election/internal/follow/follow.go",
		old:  "clock.AfterFunc(f.patience,",
		new:  "clock.AfterFunc(1000*f.patience,",
		pkg:  "pkg/election/internal/follow", test: "TestSlowAnswers/a_list_hangs",
	},
	{
		name: "follow/names-skip", rule: "the stream of each name resumes from its own position",
		file: "pkg/election/internal/follow/names.go",
		old:  "m.store.OpenName(ctx, name, m.at[name])",
		new:  "m.store.OpenName(ctx, name, m.least())",
		pkg:  "pkg/election/internal/follow", test: "TestNames/each_resumes_where_it_was",
	},
	{
		name: "follow/names-one-by-one", rule: "many streams that open slowly are all open soon",
		file: "pkg/election/internal/follow/names.go",
		old:  "SetLimit(mostOpenings)",
		new:  "SetLimit(1)",
		pkg:  "pkg/election/internal/follow", test: "TestManyNamesOnASlowStore",
	},
	{
		name: "follow/names-all-at-once", rule: "at most 16 streams are opened at a time",
		file: "pkg/election/internal/follow/names.go",
		old:  "SetLimit(mostOpenings)",
		new:  "SetLimit(-1)",
		pkg:  "pkg/election/internal/follow", test: "TestManyNamesOnASlowStore",
	},
	{
		name: "watching/additions-cut-the-list", rule: "a list by name that is under way comes first when an election is added",
		file: "pkg/election/internal/member/watching.go",
		old:  "	case s.awaitsList():\n",
		new:  "	case s.awaitsList() && s.names == nil:\n",
		pkg:  "pkg/election", test: "TestSteadyAdditionsByName",
	},
	{
		name: "watching/late-by-the-clock-alone", rule: "a list says nothing of an election that was added after its names were settled",
		file: "pkg/election/internal/member/watching.go",
		old:  "(c.began > s.listSent || !s.shows(name))",
		new:  "(c.began > s.listSent || name == \"\")",
		pkg:  "pkg/election/internal/member", test: "TestAnElectionAddedBeforeTheListIsAskedFor",
	},
	{
		name: "watching/list-of-no-names", rule: "nobody waits for the list of a watch of no names",
		file: "pkg/election/internal/member/watching.go",
		old:  " && (s.names == nil || len(s.names) > 0)",
		new:  "",
		pkg:  "pkg/election/internal/member", test: "TestNoListOfNoNames",
	},
	{
		name: "watching/broken-stream-goes-on", rule: "the member does not wait for a stream of a name that it no longer needs",
		file: "pkg/election/internal/member/watching.go",
		old:  "	if s.names != nil && !s.restart",
		new:  "	if s.names != nil && s.listing && !s.restart",
		pkg:  "pkg/election/internal/member", test: "TestAStreamThatCannotBeOpenedMakesRoom",
	},
	{
		name: "watching/broken-list-goes-on", rule: "the member does not wait for a list that breaks if it needs a list of other names",
		file: "pkg/election/internal/member/watching.go",
		old:  "		m.restartForNames(s)\n",
		new:  "",
		pkg:  "pkg/election/internal/member", test: "TestABrokenListMakesRoom",
	},
	{
		name: "watching/an-addition-cuts-the-watch", rule: "no term ends because an election is added while lists do not pass",
		file: "pkg/election/internal/member/watching.go",
		old:  "	if s.watch == 0 || s.store.ByName && (s.listing || len(s.byLock) == 0) { // a watch of no names shows no list\n",
		new:  "	if true {\n",
		pkg:  "pkg/election", test: "TestAnAdditionWhileListsFail",
	},
	{
		name: "watching/an-addition-blinds", rule: "a lock is taken although an election is added to its store while lists do not pass",
		file: "pkg/election/internal/member/watching.go",
		old:  "	if s.watch == 0 || s.store.ByName && (s.listing || len(s.byLock) == 0) {",
		new:  "	if s.watch == 0 || s.store.ByName {",
		pkg:  "pkg/election", test: "TestAnAdditionApartWhileListsFail/by_name",
	},
	{
		name: "watching/a-trial-for-ever", rule: "a watch by name gets its new names once a list of them passes",
		file: "pkg/election/internal/member/member.go",
		old:  "		if s := m.watchOf(in.Watch); s != nil && s.relisting {\n			m.begin(s)\n		}\n",
		new:  "",
		pkg:  "pkg/election", test: "TestAnAdditionApartWhileListsFail/by_name",
	},
	{
		name: "watching/a-trial-of-names-given-up", rule: "a name that a member no longer needs does not keep others from its watch",
		file: "pkg/election/internal/member/watching.go",
		old:  "	if s.store.ByName && !slices.Equal(s.trial, s.wanted()) {",
		new:  "	if false {",
		pkg:  "pkg/election/internal/member", test: "TestAWatchOfNamesGoesOnWhileListsFail",
	},
	{
		name: "watching/a-trial-of-no-names", rule: "a watch that needs no name any more is begun anew without a trial, which would never end",
		file: "pkg/election/internal/member/watching.go",
		old:  "(s.listing || len(s.byLock) == 0)",
		new:  "s.listing",
		pkg:  "pkg/election/internal/member", test: "TestAWatchOfNamesGoesOnWhileListsFail",
	},
	{
		name: "watching/unlisted-beside-the-sessions", rule: "an election is no offer until a list of its own store has shown it",
		file: "pkg/election/internal/member/says.go",
		old:  "!m.streamOf(c.lock.store).unlisted",
		new:  "!m.streamOf(Own).unlisted",
		pkg:  "pkg/election/internal/member", test: "TestAWatchOfNamesGoesOnWhileListsFail",
	},
	{
		name: "watching/silent-until-a-list", rule: "a watch that falls silent ends at once, also if a list is awaited",
		file: "pkg/election/internal/member/watching.go",
		old:  "		if !s.restart {\n			s.restart = true\n",
		new:  "		if !s.restart && !s.relisting {\n			s.restart = true\n",
		pkg:  "pkg/election/internal/member", test: "TestASilentWatchWaitsForNoList",
	},
	{
		name: "watching/failing-lists-in-silence", rule: "a list that fails while the watch goes on is told of",
		file: "pkg/election/internal/member/watching.go",
		old:  "	m.trouble.noteList(s.store, err)\n",
		new:  "",
		pkg:  "pkg/election/internal/member", test: "TestTheWatchOfSessionsGoesOnUntilAListComes",
	},
	{
		name: "watching/list-of-another-watch", rule: "a list that ended with its watch says nothing of the present one",
		file: "pkg/election/internal/member/member.go",
		old:  "s != nil && s.relisting {\n			m.listFailed",
		new:  "s != nil {\n			m.listFailed",
		pkg:  "pkg/election/internal/member", test: "TestTheWatchOfSessionsGoesOnUntilAListComes",
	},
	{
		name: "watching/list-asked-for-early", rule: "an election counts as listed only by a list that was requested after it was added",
		file: "pkg/election/internal/member/member.go",
		old:  "			m.listSent(s, in.At)\n",
		new:  "			m.listSent(s, m.now.Add(time.Hour))\n",
		pkg:  "pkg/election/internal/member", test: "TestTheWatchOfSessionsGoesOnUntilAListComes",
	},
	{
		name: "watching/unlisted-is-on-offer", rule: "others go first where no list has shown the lock, since lists fail",
		file: "pkg/election/internal/member/says.go",
		old:  "	m.addUnlisted(&says)\n",
		new:  "",
		pkg:  "pkg/election/internal/member", test: "TestAnElectionThatIsNotListedIsNoOffer",
	},
	{
		name: "watching/late-take-unlisted", rule: "a member answers for its late take also before its election is listed",
		file: "pkg/election/internal/member/watching.go",
		old:  "		if m.keepsThroughSession(e.Record) && m",
		new:  "		if false && m",
		pkg:  "pkg/election/internal/member", test: "TestALateTakeOfAnElectionThatIsNotListed",
	},
	{
		name: "watching/late-take-forgotten", rule: "a member remembers a late take of an election that no list has shown",
		file: "pkg/election/internal/member/elections.go",
		old:  " || !c.listed && m.gone[c.lock].mayYetTake",
		new:  "",
		pkg:  "pkg/election/internal/member", test: "TestALateTakeOfAnElectionThatIsNotListed",
	},
	{
		name: "relay/older-than-shown", rule: "a list made beside a watch shows nothing older than the watch has shown",
		file: "pkg/election/relay.go",
		old:  "	if list.Revision >= one.from {",
		new:  "	if false {",
		pkg:  "pkg/election", test: "TestRelay/behind_the_watch",
	},
	{
		name: "relay/older-after-the-list", rule: "a watch shows nothing that a list made beside it has shown",
		file: "pkg/election/relay.go",
		old:  "e.Entry.Version.Revision <= r.ahead",
		new:  "false",
		pkg:  "pkg/election", test: "TestRelay/ahead_of_the_watch",
	},
	{
		name: "relay/list-of-a-broken-watch", rule: "a list made beside a watch is shown while the watch shows every change",
		file: "pkg/election/relay.go",
		old:  " || !r.whole {",
		new:  " {",
		pkg:  "pkg/election", test: "TestRelay/while_the_watch_is_broken",
	},
	{
		name: "relay/lists-twice", rule: "a list made beside a watch is given up if the watch lists by itself",
		file: "pkg/election/relay.go",
		old:  "		r.dropLocked()\n	case lock.Broken:\n",
		new:  "	case lock.Broken:\n",
		pkg:  "pkg/election", test: "TestRelay/the_watch_lists_by_itself",
	},
	{
		name: "relay/list-of-before", rule: "a list made beside a watch replaces the one before it",
		file: "pkg/election/relay.go",
		old:  "	if r.beside != one || ",
		new:  "	if ",
		pkg:  "pkg/election", test: "TestRelay/another_list",
	},
	{
		name: "relay/ahead-for-ever", rule: "a watch that lists by itself shows all changes after that list",
		file: "pkg/election/relay.go",
		old:  "		r.whole, r.listing, r.ahead = false, true, 0\n",
		new:  "		r.whole, r.listing = false, true\n",
		pkg:  "pkg/election", test: "TestRelay/the_watch_lists_by_itself_after_a_list_that_was_ahead",
	},
	{
		name: "relay/two-lists-at-once", rule: "no list is made beside the one that the watch makes by itself",
		file: "pkg/election/relay.go",
		old:  "	if r.listing {\n",
		new:  "	if false {\n",
		pkg:  "pkg/election", test: "TestRelay/a_list_is_asked_for_while_the_watch_lists_by_itself",
	},
	{
		name: "relay/listing-for-ever", rule: "a watch that has listed by itself can be listed again",
		file: "pkg/election/relay.go",
		old:  "r.listing, r.shown = false, e.Revision",
		new:  "r.shown = e.Revision",
		pkg:  "pkg/election", test: "TestRelay/a_list_is_asked_for_while_the_watch_lists_by_itself",
	},
	{
		name: "relay/restored-under-the-list", rule: "changes of a lost history are not brought to a list of the restored store",
		file: "pkg/election/relay.go",
		old:  "	if list.Revision >= one.from {",
		new:  "	if true {",
		pkg:  "pkg/election", test: "TestRelay/the_store_was_restored_under_the_list",
	},
	{
		name: "watching/two-lists-at-once", rule: "no list is asked for while the watch lists by itself",
		file: "pkg/election/internal/member/watching.go",
		old:  " && !s.restart && !s.listing {",
		new:  " && !s.restart {",
		pkg:  "pkg/election/internal/member", test: "TestNoListBesideTheWatchsOwn",
	},
	{
		name: "watching/lists-keep-a-silent-watch", rule: "a list made beside a watch is no sign that the watch lives",
		file: "pkg/election/internal/member/watching.go",
		old:  "	if e.Kind != lock.Listed || s.listing {",
		new:  "	if true {",
		pkg:  "pkg/election/internal/member", test: "TestAListBesideASilentWatch",
	},
	{
		name: "watching/any-take-ends-the-watch", rule: "only a take without a certain answer ends a sound watch",
		file: "pkg/election/internal/member/watching.go",
		old:  " && m.mayYetTake(c.lock)",
		new:  "",
		pkg:  "pkg/election/internal/member", test: "TestALateTakeOfAnElectionThatIsNotListed",
	},
	{
		name: "watching/late-take-of-another-store", rule: "a late take counts by whatever store it was asked for",
		file: "pkg/election/internal/member/places.go",
		old:  "	for name := range m.namesOf(lock) {\n		if m.gone[name].mayYetTake {\n",
		new:  "	for name := range m.namesOf(lock) {\n		if name == lock && m.gone[name].mayYetTake {\n",
		pkg:  "pkg/election/internal/member", test: "TestALateTakeOfAnElectionThatIsNotListed",
	},
	{
		name: "watching/unlisted-crowds", rule: "elections that no list has shown never make a member unready for all",
		file: "pkg/election/internal/member/says.go",
		old:  "bytes <= maxListed {",
		new:  "true {",
		pkg:  "pkg/election/internal/member", test: "TestManyElectionsThatAreNotListed",
	},
	{
		name: "watching/unlisted-for-one-watch", rule: "an election is no offer until a list has shown it, whichever watch fails to list",
		file: "pkg/election/internal/member/watching.go",
		old:  "s.watch, s.restart, s.relisting = m.watches, false, false",
		new:  "s.watch, s.restart, s.relisting, s.unlisted = m.watches, false, false, false",
		pkg:  "pkg/election/internal/member", test: "TestAnElectionThatIsNotListedIsNoOffer",
	},
	{
		name: "watching/unlisted-without-a-reason", rule: "members say why an election that no list has shown is no offer",
		file: "pkg/election/internal/member/says.go",
		old:  "Why: record.NoList",
		new:  "Why: \"\"",
		pkg:  "pkg/election/internal/member", test: "TestAnElectionThatIsNotListedIsNoOffer",
	},
	{
		name: "watching/lists-without-a-pause", rule: "two lists for new elections are a second apart",
		file: "pkg/election/internal/member/watching.go",
		old:  "s.relisting, s.begunAt = true, m.now",
		new:  "s.relisting = true",
		pkg:  "pkg/election/internal/member", test: "TestNoListBesideTheWatchsOwn",
	},
	{
		name: "watching/listed-is-no-offer", rule: "elections whose lock a list has shown stay on offer while lists fail",
		file: "pkg/election/internal/member/says.go",
		old:  "if c.listed || ",
		new:  "if ",
		pkg:  "pkg/election/internal/member", test: "TestAnElectionThatIsNotListedIsNoOffer",
	},
	{
		name: "relay/restored-after-a-list-ahead", rule: "a list that was ahead counts as shown where a restored store is to be noticed",
		file: "pkg/election/relay.go",
		old:  "max(r.shown, r.ahead)",
		new:  "r.shown",
		pkg:  "pkg/election", test: "TestRelay/the_store_was_restored_after_a_list_ahead_of_the_watch",
	},
	{
		name: "relay/heard-after-its-list", rule: "a list made beside a watch stays as it came",
		file: "pkg/election/relay.go",
		old:  " || one.list != nil {",
		new:  " {",
		pkg:  "pkg/election", test: "TestRelay/the_list's_watch_breaks_after_the_list",
	},
	{
		name: "relay/no-sign-of-life", rule: "a change that a list has shown before is a sign that the watch lives",
		file: "pkg/election/relay.go",
		old:  "			r.passLocked(lock.Event{Kind: lock.Progressed, Revision: e.Entry.Version.Revision}) // a sign of life\n",
		new:  "",
		pkg:  "pkg/election", test: "TestRelay/ahead_of_the_watch",
	},
	{
		name: "watching/disowned-take-ends-the-watch", rule: "what a member disowned ends no watch",
		file: "pkg/election/internal/member/watching.go",
		old:  " && m.mayYetTake(c.lock) && !m.isDisowned(c.lock, e) {",
		new:  " && m.mayYetTake(c.lock) {",
		pkg:  "pkg/election/internal/member", test: "TestALateTakeOfAnElectionThatIsNotListed",
	},
	{
		name: "follow/barren-for-ever", rule: "streams that show nothing three times lead to a list",
		file: "pkg/election/internal/follow/follow.go",
		old:  " || f.barren >= mostBarren",
		new:  "",
		pkg:  "pkg/election/internal/follow", test: "TestRun/streams_that_show_nothing_three_times_lead_to_a_list",
	},
	{
		name: "watching/troubles-are-shared", rule: "what the member logs of one watch does not depend on another watch",
		file: "pkg/election/internal/member/troubles.go",
		old:  `t.noteOf(operation{"watch", store}, lockName{store: store}, err)`,
		new:  `t.noteOf(operation{"watch", Own}, lockName{}, err)`,
		pkg:  "pkg/election/internal/member", test: "TestTroublesOfWatchesAreTheirOwn",
	},
	{
		name: "watching/troubles-of-one-operation", rule: "a watch that fails says so although another fails all the time",
		file: "pkg/election/internal/member/troubles.go",
		old:  `t.noteOf(operation{"watch", store}, lockName{store: store}, err)`,
		new:  `t.noteOf(operation{"watch", Own}, lockName{store: store}, err)`,
		pkg:  "pkg/election/internal/member", test: "TestTroublesOfWatchesAreTheirOwn",
	},
	{
		name: "store/unknown-is-denied", rule: "what the server did not certainly refuse may be stored",
		file: "pkg/election/lock/apiserver/errors.go",
		old: `			return wrap(lock.ErrDenied, err)
		}
	}
	return wrap(lock.ErrUnknown, err)`,
		new: `			return wrap(lock.ErrDenied, err)
		}
	}
	return wrap(lock.ErrDenied, err)`,
		pkg: "pkg/election/lock/lease", test: "TestAnswers/writes",
	},
	{
		name: "store/proxy-speaks", rule: "only an API server's own answer counts",
		file: "pkg/election/lock/apiserver/errors.go",
		old:  " || apierrors.IsUnexpectedServerError(err)",
		new:  "",
		pkg:  "pkg/election/lock/lease", test: "TestAnswers/reads",
	},
	{
		name: "store/any-404-is-absence", rule: "absence is said of the very object",
		file: "pkg/election/lock/apiserver/errors.go",
		old:  " && s.Details.Name == name",
		new:  "",
		pkg:  "pkg/election/lock/lease", test: "TestAnswers/reads/of_another_object",
	},
	{
		name: "store/retried-behind-our-back", rule: "a request is sent once",
		file: "pkg/election/lock/apiserver/objects.go",
		old:  ".MaxRetries(0)",
		new:  "",
		pkg:  "pkg/election/lock/lease", test: "TestAnswers/reads/too_many_requests",
	},
	{
		name: "stream/credentials-that-hang", rule: "a request ends with its context, though its credentials never come",
		file: "pkg/election/lock/apiserver/prompt.go",
		old:  "		return a.response, a.err\n	case <-ctx.Done():\n",
		new:  "		return a.response, a.err\n	case <-make(chan struct{}):\n",
		pkg:  "pkg/election/lock/apiserver", test: "TestCredentialsThatHang",
	},
}
