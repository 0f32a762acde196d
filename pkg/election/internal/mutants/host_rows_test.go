package mutants_test

// hostRows break rules of the host: how terms and changes end.
var hostRows = []row{
	{
		name: "onend/called-under-a-lock", rule: "a callback of OnEnd may use the Term and the Status",
		file: "pkg/election/work.go",
		old:  "		then = f()\n	}()\n	then()\n",
		new:  "		then = f()\n		then()\n	}()\n",
		pkg:  "pkg/election", test: "TestACallbackOfTheEndUsesTheTerm",
	},
	{
		name: "onend/earlier-deadline-is-late", rule: "callbacks of OnEnd are called by the deadline, also if it is earlier than the one before",
		file: "pkg/election/validity.go",
		old:  "to.Deadline < v.until() {",
		new:  "false {",
		pkg:  "pkg/election", test: "TestAnEarlierDeadline",
	},
	{
		name: "onend/earlier-than-what-was-published", rule: "the deadline before is that of the last beat, whether or not anybody asked for it",
		file: "pkg/election/validity.go",
		old:  "to.Deadline < v.until() {",
		new:  "to.Deadline < v.Deadline {",
		pkg:  "pkg/election", test: "TestAnEarlierDeadline",
	},
	{
		name: "onend/work-is-told-first", rule: "callbacks of OnEnd are called before the work is told to stop",
		file: "pkg/election/work.go",
		old:  "		defer w.cancel(&s) // also if a callback panics\n",
		new:  "		w.cancel(&s)\n",
		pkg:  "pkg/election", test: "TestACallbackOfTheEndUsesTheTerm",
	},
	{
		name: "onend/work-outlives-a-panic", rule: "dead-by-the-deadline: the work is told to stop although a callback of OnEnd panics",
		file: "pkg/election/work.go",
		old:  "		defer w.cancel(&s) // also if a callback panics\n		over.tell()\n",
		new:  "		over.tell()\n		w.cancel(&s)\n",
		pkg:  "pkg/election", test: "TestACallbackThatPanics",
	},
	{
		name: "onend/a-panic-ends-the-calls", rule: "all callbacks of OnEnd are called although some panic",
		file: "pkg/election/validity.go",
		old:  "		if !all {\n",
		new:  "		if false && !all {\n",
		pkg:  "pkg/election", test: "TestACallbackThatPanics",
	},
	{
		name: "onend/guard-is-set-afterwards", rule: "dead-by-the-deadline: the process ends although a callback of OnEnd blocks",
		file: "pkg/election/work.go",
		old: `	w.guard.Reset(clock.Until(w.clock, s.By))
	var over *life
	if w.term.status != nil {
		over = w.term.status.over(w.term.Token, s) // here too, since the guard stops work without the host
	}
	return func() {
		defer w.cancel(&s) // also if a callback panics
		over.tell()
`,
		new: `	var over *life
	if w.term.status != nil {
		over = w.term.status.over(w.term.Token, s) // here too, since the guard stops work without the host
	}
	return func() {
		defer w.cancel(&s) // also if a callback panics
		over.tell()
		w.guard.Reset(clock.Until(w.clock, s.By))
`,
		pkg: "pkg/election", test: "TestACallbackThatBlocks",
	},
	{
		name: "onend/one-after-the-other", rule: "dead-by-the-deadline: a callback of OnEnd that blocks holds up no other work",
		file: "pkg/election/reach.go",
		old:  "		w.keepApart()\n",
		new:  "		w.keep()\n",
		pkg:  "pkg/election", test: "TestACallbackThatBlocks",
	},
	{
		name: "stop/grace-counts-from-the-step", rule: "work has its whole grace from when it is told to stop, also if the host was held up",
		file: "pkg/election/host.go",
		old:  "			w.end(w.inFull(stop))\n",
		new:  "			w.end(stop)\n",
		pkg:  "pkg/election", test: "TestAHeldUpHostLeavesWorkItsGrace",
	},
	{
		name: "stop/told-after-the-report", rule: "work of a disabled election has its whole grace from when it is told to stop",
		file: "pkg/election/disabled.go",
		old: `			if w == nil {
				returned <- nil
			} else {
				w.end(stop) // before the report: a log may hold us up
			}
			e.status.end(0, stop)
			s.report(machine.Draining, stopReason(ctx))
`,
		new: `			s.report(machine.Draining, stopReason(ctx))
			if w == nil {
				returned <- nil
			} else {
				w.end(stop) // before the report: a log may hold us up
			}
			e.status.end(0, stop)
`,
		pkg: "pkg/election", test: "TestAHeldUpHostLeavesWorkItsGrace",
	},
	{
		name: "work/goexit-is-not-told", rule: "a runner that ends its goroutine has failed: its member does not hold the lock without work",
		file: "pkg/election/work.go",
		old:  "			returned(err, w.expired())\n",
		new:  "			if !errors.Is(err, ErrGoexit) {\n				returned(err, w.expired())\n			}\n",
		pkg:  "pkg/election", test: "TestGoexitGivesTheTermUp",
	},
	{
		name: "exchange/removed-during-work", rule: "Remove of a disabled election awaits its work, also once the Manager has finished",
		file: "pkg/election/exchange.go",
		old:  "	case e.withdraw != nil: //",
		new:  "	case e.withdraw != nil && m.running: //",
		pkg:  "pkg/election", test: "TestRemoveAwaitsWorkWithoutALock",
	},
	{
		name: "exchange/never-settled", rule: "a change is in force once what waited is removed",
		file: "pkg/election/exchange.go",
		old:  "	m.settleLocked() // the change may have removed the last election that waited\n",
		new:  "",
		pkg:  "pkg/election", test: "TestSettledAfterWhatWaitedWasRemoved",
	},
	{
		name: "exchange/never-settled-by-remove", rule: "a change is in force once what waited is removed",
		file: "pkg/election/manager.go",
		old:  "	m.settleLocked() // it may have been the last election that waited\n",
		new:  "",
		pkg:  "pkg/election", test: "TestSettledAfterWhatWaitedWasRemoved",
	},
	{
		name: "validity/of-another-cycle", rule: "a term is valid only in the cycle that it began",
		file: "pkg/election/validity.go",
		old:  " && v.cycle == t.Cycle {",
		new:  " {",
		pkg:  "pkg/election", test: "TestDisabledTermIsValidInItsOwnRunOnly",
	},
	{
		name: "health/dead-while-work-stops", rule: "a member that leaves is alive until Run has returned",
		file: "pkg/election/health.go",
		old:  "	if m.returned {",
		new:  "	if m.finished {",
		pkg:  "pkg/election", test: "TestAliveWhileWorkStops",
	},
	{
		name: "exchange/settled-during-work", rule: "a change is in force when the work of each disabled election that it removes has stopped",
		file: "pkg/election/exchange.go",
		old:  "m.givenUp > 0 {\n",
		new:  "len(m.leaving) > 0 {\n",
		pkg:  "pkg/election", test: "TestSettledAwaitsWorkWithoutALock",
	},
	{
		name: "abort/awaits-the-log", rule: "dead-by-the-deadline: no process that has to end waits for its log",
		file: "pkg/election/abort.go",
		old:  "		line.await(w.clock, patience)\n",
		new:  "		<-line.written\n",
		pkg:  "pkg/election", test: "TestNoAbortAwaitsTheLog",
	},
	{
		name: "abort/log-at-the-deadline", rule: "dead-by-the-deadline: the log has its time before the work's time is over, not after it",
		file: "pkg/election/abort.go",
		old:  "clock.Until(c, l.begun.Add(patience))",
		new:  "patience",
		pkg:  "pkg/election", test: "TestNoAbortAwaitsTheLog",
	},
	{
		name: "abort/no-word-before", rule: "the log says why a process ends before the process ends",
		file: "pkg/election/work.go",
		old:  "	w.warnLater(s.By)\n",
		new:  "",
		pkg:  "pkg/election", test: "TestWorkThatStopsLate",
	},
	{
		name: "abort/false-alarm", rule: "the log has no alarm about work that stops in time",
		file: "pkg/election/abort.go",
		old:  "by.Add(-min(warnAhead, w.grace/4))",
		new:  "by.Add(-w.grace)",
		pkg:  "pkg/election", test: "TestWorkThatStopsLate",
	},
	{
		name: "drop-in/releases-before-it-says-so", rule: "without ReleaseOnCancel the lock is released after OnStoppedLeading, where the work of many programs ends",
		file: "pkg/election/leaderelection/elector.go",
		old:  "	t.stoppedApart() // the work may end only there, with the process\n",
		new:  "",
		pkg:  "pkg/election/leaderelection", test: "TestWorkThatEndsInOnStoppedLeading",
	},
	{
		name: "announce/awaited", rule: "a member leads though its announcement hangs",
		file: "pkg/election/announce.go",
		old:  "	case <-timer.C:\n		return errAnnounceSlow\n",
		new:  "",
		pkg:  "pkg/election", test: "TestAnnounceThatHangs",
	},
	{
		name: "announce/at-once", rule: "a member's latest identity is announced last",
		file: "pkg/election/announce.go",
		old:  "	if !a.busy {\n",
		new:  "	if true {\n",
		pkg:  "pkg/election", test: "TestAnnounceThatHangs",
	},
	{
		name: "preference/awaited", rule: "Run returns though the source of the preferred revision hangs",
		file: "internal/bounded/bounded.go",
		old:  "	case <-late.C:\n		return ErrLeft\n",
		new:  "",
		pkg:  "pkg/election", test: "TestPreferencesThatHang",
	},
	{
		name: "preference/exchange-awaits-the-old", rule: "a source that hangs does not keep the next one from being watched",
		file: "pkg/revisions/switch.go",
		old:  "		case <-late:\n			return nil\n",
		new:  "		case <-late:\n",
		pkg:  "pkg/revisions", test: "TestSwitchFromASourceThatHangs",
	},
	{
		name: "preference/exchange-hears-the-old", rule: "what a source delivers after it was left behind does not count",
		file: "pkg/revisions/switch.go",
		old:  "			select {\n			case said <- p:\n			case <-left:\n			}\n",
		new:  "			select {\n			case said <- p:\n			case <-left:\n				deliver(p)\n			}\n",
		pkg:  "pkg/revisions", test: "TestSwitchFromASourceThatHangs",
	},
	{
		name: "follow/hangs-unsaid", rule: "a follower of a file says when a look at it hangs",
		file: "internal/watchfile/stall.go",
		old:  "clock.NewTimer(s.After)",
		new:  "clock.NewTimer(100 * s.After)",
		pkg:  "internal/watchfile", test: "TestALookThatHangs",
	},
	{
		name: "follow/lags-for-ever", rule: "a member lags no more than before once a look at its configuration that hung has ended",
		file: "cmd/primacy/app/reload.go",
		old:  "		r.elections.SetLag(r.lag)\n",
		new:  "",
		pkg:  "cmd/primacy/app", test: "TestReloadThatHangs",
	},
	{
		name: "follow/awaited", rule: "a member leaves though something beside its manager hangs",
		file: "cmd/primacy/app/member.go",
		old:  "bounded.Call(present, besideGrace,",
		new:  "bounded.Call(present, time.Hour,",
		pkg:  "cmd/primacy/app", test: "TestMemberLeavesThoughAListenerHangs",
	},
	{
		name: "follow/certificate-awaited", rule: "endpoints end though the files of their certificate hang",
		file: "cmd/primacy/endpoints/certificate.go",
		old:  "bounded.Call(ctx, leaveTime,",
		new:  "bounded.Call(context.Background(), leaveTime,",
		pkg:  "cmd/primacy/endpoints", test: "TestCertificateThatHangs",
	},
	{
		name: "run/dies-with-its-reader", rule: "a member does not die with the reader of its log",
		file: "cmd/primacy/app/signals.go",
		old:  "		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)\n",
		new:  "",
		pkg:  "cmd/primacy/app", test: "TestLogWhoseReaderIsGone",
	},
	{
		name: "run/error-awaits-its-reader", rule: "a process ends though nobody reads its error",
		file: "cmd/primacy/app/execute.go",
		old:  "	case <-printed:\n	case <-timer.C:\n",
		new:  "	case <-printed:\n",
		pkg:  "cmd/primacy/app", test: "TestErrorThatNobodyReads",
	},
	{
		name: "abort/ends-before-its-line", rule: "a process that aborts has written why, if its log is healthy",
		file: "pkg/election/abort.go",
		old:  "		_ = a.log.Sync() // the process ends either way\n",
		new:  "",
		pkg:  "pkg/election", test: "TestAnAbortIsWrittenFirst",
	},
	{
		name: "onend/holds-the-host-up", rule: "a callback of OnEnd holds the member up for no longer than the grace, also without a runner",
		file: "pkg/election/host.go",
		old:  "		aborts.abort(err)\n	})\n	defer late.Stop()\n",
		new:  "	})\n	defer late.Stop()\n",
		pkg:  "pkg/election", test: "TestACallbackThatBlocksWithoutARunner",
	},
	{
		name: "onend/a-moment-is-long", rule: "a callback of OnEnd that returns within the grace ends no process",
		file: "pkg/election/host.go",
		old:  "	defer late.Stop()\n	over.tell()\n",
		new:  "	over.tell()\n	_ = late\n",
		pkg:  "pkg/election", test: "TestACallbackThatBlocksWithoutARunner",
	},
	{
		name: "beyond/waited-for-in-silence", rule: "an election that waits for work that does not end says so: the log, and Alive",
		file: "pkg/election/health.go",
		old:  "late > 0 && len(m.waiting[e]) > 0 &&",
		new:  "late > 0 && len(m.waiting[e]) > 1 &&",
		pkg:  "pkg/election", test: "TestWorkBeyondTermsThatDoesNotEnd",
	},
	{
		name: "beyond/nobody-waits", rule: "work beyond terms that does not end fails no liveness probe while no election waits for it",
		file: "pkg/election/health.go",
		old:  "late > 0 && len(m.waiting[e]) > 0 &&",
		new:  "late > 0 &&",
		pkg:  "pkg/election", test: "TestWorkBeyondTermsThatDoesNotEnd",
	},
	{
		name: "beyond/ending-is-logged", rule: "the log says that work beyond terms goes on only if it does",
		file: "pkg/election/exchange.go",
		old:  "e.beyond.goroutines == 0 && e.beyond.late != nil {",
		new:  "false {",
		pkg:  "pkg/election", test: "TestWorkBeyondTermsThatEnds",
	},
	{
		name: "beyond/ended-is-logged", rule: "the log says that work beyond terms goes on only if it does",
		file: "pkg/election/entrant.go",
		old:  "	if b.goroutines == 0 {\n		return\n	}\n	grace :=",
		new:  "	grace :=",
		pkg:  "pkg/election", test: "TestWorkBeyondTermsThatEnds",
	},
	{
		name: "log/awaited", rule: "nobody waits for a slow log",
		file: "cmd/primacy/app/impatient.go",
		old:  "		go w.write() // ends when nothing is left to write, at the latest with this process\n	}\n",
		new:  "		go w.write()\n	}\n	idle := w.idle\n	w.mu.Unlock()\n	<-idle\n	w.mu.Lock()\n",
		pkg:  "cmd/primacy/app", test: "TestNobodyWaitsForTheLog",
	},
	{
		name: "log/keeps-a-borrowed-line", rule: "the log has each line as it was said",
		file: "cmd/primacy/app/impatient.go",
		old:  "slices.Clone(line)) // the caller uses its memory again",
		new:  "slices.Clip(line))",
		pkg:  "cmd/primacy/app", test: "TestNobodyWaitsForTheLog",
	},
	{
		name: "log/any-number-of-lines", rule: "a log that hangs costs no more memory than its queue",
		file: "cmd/primacy/app/impatient.go",
		old:  " || len(w.queue) >= mostLines",
		new:  "",
		pkg:  "cmd/primacy/app", test: "TestTheQueueOfTheLogIsBounded",
	},
	{
		name: "log/any-number-of-bytes", rule: "a log that hangs costs no more memory than its queue",
		file: "cmd/primacy/app/impatient.go",
		old:  " || w.size >= mostBytes",
		new:  "",
		pkg:  "cmd/primacy/app", test: "TestTheQueueOfTheLogIsBounded",
	},
	{
		name: "log/lines-in-the-gap", rule: "the log says in their place how many lines are missing",
		file: "cmd/primacy/app/impatient.go",
		old:  "w.dropped > 0 || len(",
		new:  "len(",
		pkg:  "cmd/primacy/app", test: "TestTheQueueOfTheLogIsBounded",
	},
	{
		name: "log/silent-gap", rule: "the log says in their place how many lines are missing",
		file: "cmd/primacy/app/impatient.go",
		old:  "			w.confess(dropped)\n",
		new:  "",
		pkg:  "cmd/primacy/app", test: "TestTheQueueOfTheLogIsBounded",
	},
	{
		name: "log/ends-without-it", rule: "a process that ends waits for its log, but not for long",
		file: "cmd/primacy/app/impatient.go",
		old:  "	if idle == nil {\n",
		new:  "	if true {\n",
		pkg:  "cmd/primacy/app", test: "TestTheEndAwaitsTheLog",
	},
	{
		name: "log/end-awaits-one-that-hangs", rule: "a process that ends waits for its log, but not for long",
		file: "cmd/primacy/app/impatient.go",
		old:  "	case <-timer.C:\n",
		new:  "	case <-make(chan struct{}):\n",
		pkg:  "cmd/primacy/app", test: "TestTheEndAwaitsTheLog",
	},
	{
		name: "log/klog-ends-without-it", rule: "a process that klog ends waits for its log",
		file: "cmd/primacy/app/logging.go",
		old:  "klog.FlushLogger(func() { _ = log.Sync() })",
		new:  "klog.FlushLogger(func() {})",
		pkg:  "cmd/primacy/app", test: "TestTheEndAwaitsTheLog",
	},
	{
		name: "log/costs-terms", rule: "a slow log costs a member neither its session nor its terms, nor time to stop",
		file: "cmd/primacy/app/logging.go",
		old:  "&impatient{to: out, encoder: encoder}",
		new:  "out",
		pkg:  "cmd/primacy/app", test: "TestASlowLogCostsNoTerm",
	},
	{
		name: "run/ends-before-its-log", rule: "a member does not end before its log had time to take what it said",
		file: "cmd/primacy/app/run.go",
		old:  "	defer func() { _ = log.Sync() }() // if this fails, we cannot log the error either\n",
		new:  "",
		pkg:  "cmd/primacy/app", test: "TestAMemberThatEndsAwaitsItsLog",
	},
	{
		name: "run/second-signal-unsaid", rule: "a member that a second signal ends says so, unless its log hangs",
		file: "cmd/primacy/app/signals.go",
		old:  "					_ = log.Sync() // the process ends either way\n",
		new:  "",
		pkg:  "cmd/primacy/app", test: "TestSignalsWhileTheLogHangs",
	},
	{
		name: "host/aborts-twice", rule: "Abort is called once",
		file: "pkg/election/abort.go",
		old:  "	if end.aborting {",
		new:  "	if false {",
		pkg:  "pkg/election", test: "TestAbortIsCalledOnce",
	},
	{
		name: "host/rate-overflows", rule: "a huge rate of output drops nothing",
		file: "pkg/runners/child/limited.go",
		old:  "Rate{min(r.Lines, mostRate), min(r.Bytes, mostRate)}",
		new:  "r",
		pkg:  "pkg/runners/child", test: "TestHugeRate",
	},
	{
		name: "host/rate-is-not-checked", rule: "a configuration with a rate of which a burst cannot be counted is refused",
		file: "pkg/runners/child/limited.go",
		old:  "		case n > mostRate:",
		new:  "		case false:",
		pkg:  "pkg/runners/exec", test: "TestDecodeRefuses",
	},
	{
		name: "host/token-file-hangs", rule: "a request ends with its context though the file of its token does not answer",
		file: "pkg/election/lock/apiserver/prompt.go",
		old:  `	case config.BearerTokenFile != "":`,
		new:  "	case false:",
		pkg:  "pkg/election/lock/apiserver", test: "TestTokenFileThatHangs",
	},
	{
		name: "host/certificates-hang", rule: "a request does not wait for the file of the server's certificates without a bound",
		file: "pkg/election/lock/apiserver/prompt.go",
		old:  `	case config.CAFile != "" && len(config.CAData) == 0:`,
		new:  "	case false:",
		pkg:  "pkg/election/lock/apiserver", test: "TestGiver",
	},
	{
		name: "host/slow-clocks-pass", rule: "a member warns of a clock that is slewed to be slow, as of a fast one",
		file: "cmd/primacy/app/slew.go",
		old:  "math.Abs(float64(s)) > drift",
		new:  "float64(s) > drift",
		pkg:  "cmd/primacy/app", test: "TestSlewExceeds",
	},
}
