package sim

// rows are ordered by the rule that they break.
var rows = []mutant{
	{
		name: "deadline-from-the-reply", rule: "sending-counts", file: "internal/machine/validity.go",
		old: "validUntil := sent.Add(s.cfg.Timing.Validity())",
		new: "validUntil := s.now.Add(s.cfg.Timing.Validity())",
	},
	{
		name: "holder-ignores-drift", rule: "sending-counts", file: "record/timing.go",
		old: "return d - time.Duration(float64(d)*t.Drift)",
		new: "return d",
	},
	{
		name: "lost-reply-extends", rule: "sending-counts", file: "internal/machine/writes.go",
		old: "		s.writes.open[i].unknown = true\n",
		new: "		s.writes.open[i].unknown = true\n		s.committed(w, w.asked)\n",
	},
	{
		name: "beat-counts-when-seen", rule: "seen-not-assumed", file: "internal/session/beats.go",
		old: "Sent: o.sent[0].at}",
		new: "Sent: now}",
	},
	{
		name: "a-gap-is-none", rule: "dead-by-the-deadline", file: "internal/member/beats.go",
		old: "m.now >= m.beat.Sent.Add(m.cfg.Timing.Validity())",
		new: "false",
	},
	{
		name: "late-is-not-told", rule: "dead-by-the-deadline", file: "internal/member/beats.go",
		old: "		m.toldLate = true\n		m.stepGoing(machine.Tick{})\n",
		new: "		m.toldLate = true\n",
	},
	{
		name: "a-gap-forgets-the-reach", rule: "dead-by-the-deadline", file: "internal/member/beats.go", from: 17700,
		old: "		m.stepGoing(machine.Tick{}) // terms that relied",
		new: "		// terms that relied",
	},
	{
		name: "late-is-not-said", rule: "dead-by-the-deadline", file: "internal/member/beats.go",
		old: "b.Late = c.m.late() || !c.plain()",
		new: "b.Late = !c.plain()",
	},
	{
		name: "session-term-counts-from-its-take", rule: "seen-not-assumed", file: "internal/machine/validity.go",
		old: "	if w.throughSession {\n",
		new: "	if w.throughSession && s.cfg.Beat.Sent == 0 {\n",
	},
	{
		name: "beats-before-the-locks-of-a-list", rule: "seen-not-assumed", file: "internal/member/watching.go",
		old: "			sessions = append(sessions, session.Shown{Name: entry.Name, Record: entry.Record, Version: entry.Version})\n",
		new: "			sessions = append(sessions, session.Shown{Name: entry.Name, Record: entry.Record, Version: entry.Version})\n			m.sawBeat(entry)\n",
	},
	{
		name: "observer-ignores-drift", rule: "observers-clock", file: "record/timing.go",
		old: "return d + time.Duration(float64(d)*t.Drift)",
		new: "return d",
	},
	{
		name: "expiry-by-own-configuration", rule: "observers-clock", file: "internal/machine/lock.go",
		old: "expired := l.changedAt.Add(s.observer().ObserverWait(l.duration)) // rule observers-clock",
		new: "expired := l.changedAt.Add(t.ObserverWait(t.LeaseDuration))",
	},
	{
		name: "duration-from-the-plain-field", rule: "observers-clock", file: "internal/machine/observe.go",
		old: "	d, l := r.Mark.Duration, &s.Lock",
		new: "	d, l := r.Duration, &s.Lock",
	},
	{
		name: "edits-restart-the-expiry", rule: "observers-clock", file: "internal/machine/observe.go",
		old: "if beaten := !sameObject || !before.held() || !sameBeat(before.Record, r); beaten || before.Owner != owner {",
		new: "if beaten := true; beaten {",
	},
	{
		name: "expiry-from-first-sight-of-holder", rule: "observers-clock", file: "internal/machine/observe.go",
		old: "if beaten := !sameObject || !before.held() || !sameBeat(before.Record, r); beaten || before.Owner != owner {",
		new: "if beaten := !sameObject || !before.held(); beaten || before.Owner != owner {",
	},
	{
		name: "stops-at-the-deadline", rule: "dead-by-the-deadline", file: "internal/machine/lead.go",
		old: "stopAt := s.Term.Deadline.Add(-t.StopGrace) // rule dead-by-the-deadline",
		new: "stopAt := s.Term.Deadline.Add(0 * t.StopGrace)",
	},
	{
		name: "releases-before-the-drain", rule: "stop-before-release", file: "internal/machine/lead.go",
		old: "		case !s.Drain.Lost:\n			s.renew()",
		new: "		case !s.Drain.Lost:\n			s.release()",
	},
	{
		name: "extends-after-the-stop", rule: "stop-before-release", file: "internal/machine/validity.go",
		old: "case s.Role == Leading && s.Term.Token == w.token:",
		new: "case s.Role != Following && s.Term.Token == w.token:",
	},
	{
		name: "stop-beyond-the-deadline", rule: "stop-before-release", file: "internal/machine/step.go",
		old: "by := min(s.Term.Deadline, s.now.Add(s.cfg.Timing.StopGrace))",
		new: "by := s.now.Add(s.cfg.Timing.StopGrace)",
	},
	{
		name: "starts-before-its-take-is-stored", rule: "own-take", file: "internal/machine/follow.go",
		old: "	s.put(Take, r)\n",
		new: "	s.put(Take, r)\n	s.start(write{token: r.Token}, s.now, s.now.Add(s.cfg.Timing.Validity()))\n",
	},
	{
		name: "starts-on-anybodys-write", rule: "own-take", file: "internal/machine/writes.go",
		old: "won := s.Lock.Owner == Mine && s.Lock.Record.Mark.Beat == w.beat",
		new: "won := s.Lock.Owner == Mine || s.Lock.Owner == Other",
	},
	{
		name: "takes-a-live-lock", rule: "living-terms-stay", file: "internal/machine/lock.go",
		old: "expired := l.changedAt.Add(s.observer().ObserverWait(l.duration)) // rule observers-clock",
		new: "expired := l.changedAt",
	},
	{
		name: "drains-for-another-preference", rule: "living-terms-stay", file: "internal/machine/candidates.go",
		old: "if p.Preference != s.cfg.Digest {",
		new: "if false {",
	},
	{
		name: "claim-is-a-take", rule: "claim-and-wait", file: "internal/machine/follow.go", from: 450,
		old: "		s.put(Claim, r)\n",
		new: "		s.put(Take, r)\n",
	},
	{
		name: "claim-is-not-waited-out", rule: "claim-and-wait", file: "internal/machine/foreign.go",
		old: "func (s *step) heldBack() record.Instant { return max(s.claimOver(), s.foreign.robbed) }",
		new: "func (s *step) heldBack() record.Instant { return 0 }",
	},
	{
		name: "claim-waits-for-two-leases", rule: "claim-and-wait", file: "internal/machine/foreign_stops.go", from: 820,
		old: "const foreignLeases = 4",
		new: "const foreignLeases = 2",
	},
	{
		name: "claim-waits-for-half-of-istio", rule: "claim-and-wait", file: "internal/machine/istio.go",
		old: "const istioStops = 3*15*time.Second + 7500*time.Millisecond",
		new: "const istioStops = 15*time.Second + 7500*time.Millisecond",
	},
	{
		name: "claim-is-released", rule: "claim-and-wait", file: "internal/machine/foreign.go",
		old: "	case s.now >= over && (s.withdrawal.reason()",
		new: "	case (s.withdrawal.reason()",
	},
	{
		name: "claim-is-not-passed-on", rule: "claim-and-wait", from: 5001, file: "internal/machine/foreign.go",
		old: "		s.suspect(suspect{Claim: *r.Claim, told: true, by: r.Token})\n",
		new: "",
	},
	{
		name: "leads-on-until-the-deadline", rule: "loss-is-definite", file: "internal/machine/lead.go",
		old: "if why, lost := s.lost(); lost {\n		s.stop(why)",
		new: "if why, lost := s.lost(); lost && s.now >= stopAt {\n		s.stop(why)",
	},
	{
		name: "token-starts-over", rule: "tokens-rise", file: "internal/machine/content.go",
		old: "return max(record.Token(s.Lock.Version.Revision), record.Token(s.cfg.Newest), s.Term.Token+1)",
		new: "return s.Term.Token + 1",
	},
	{
		name: "waits-on-over-a-break-of-sessions", rule: "unknown-is-waited-out", file: "internal/session/directory.go",
		old: "		if s := d.slot(e.Name); known != nil && s != known {",
		new: "		if s := d.slot(e.Name); known != nil && s != known && !e.Record.Bound() {",
	},
	{
		name: "session-ended-too-early", rule: "a-session-ends-once", file: "internal/session/directory.go",
		old: "return s.changedAt.Add(d.lasts(s))",
		new: "return s.changedAt.Add(d.lasts(s) * 2 / 3)",
	},
	{
		name: "identity-joins-again", rule: "a-session-ends-once", file: "internal/session/own.go", from: 5600,
		old: "o.doubtful = true",
		new: "o.doubtful = false",
	},
	{
		name: "reused-slot-is-the-session", rule: "a-session-ends-once", file: "internal/machine/sessions.go",
		old: "case o.Ended, o.Holder != \"\" && o.Holder != r.Holder:",
		new: "case o.Ended:",
	},
	{
		name: "blanked-session-has-ended", rule: "a-session-ends-once", file: "internal/machine/sessions.go",
		old: "	case o.Holder == \"\":\n		return Unowned\n",
		new: "	case o.Holder == \"\":\n		return Orphaned\n",
	},
	{
		name: "ownership-is-not-asked-again", rule: "owned-through-its-session", file: "internal/machine/step.go",
		old: "		s.View = e.View\n		s.reown()\n",
		new: "		s.View = e.View\n",
	},
	{
		name: "another-object-is-the-session", rule: "owned-through-its-session", file: "internal/machine/sessions.go",
		old: "case !exists || o.UID != m.SessionUID:",
		new: "case !exists:",
	},
	{
		// What the member tells its machines, and when, matters as much.
		name: "directory-is-told-after-the-locks", rule: "owned-through-its-session", file: "internal/member/watching.go", from: 15300,
		old: "		m.tendView() // the record's owner follows from the sessions shown before it\n",
		new: "",
	},
	{
		name: "directory-is-not-told-with-a-list", rule: "owned-through-its-session", file: "internal/member/watching.go",
		old: ", View: s.view",
		new: "",
	},
	{
		name: "session-record-expires-by-itself", rule: "owned-through-its-session", file: "internal/machine/lock.go",
		old: "			return 0, false // it lasts for as long as its holder's session does\n",
		new: "			return l.changedAt.Add(t.ObserverWait(l.duration)), true\n",
	},
	{
		name: "unknown-session-has-ended", rule: "unknown-is-waited-out", file: "internal/machine/sessions.go",
		old: "	case !exists || o.UID != m.SessionUID:\n		return Unowned\n",
		new: "	case !exists || o.UID != m.SessionUID:\n		return Orphaned\n",
	},
	{
		name: "no-wait-for-the-ownerless", rule: "unknown-is-waited-out", file: "internal/machine/lock.go",
		old: "free := l.since.Add(s.observer().ObserverWait(wait))",
		new: "free := l.since.Add(0 * wait)",
	},
	{
		name: "created-is-taken-at-once", rule: "unknown-is-waited-out", file: "internal/machine/lock.go",
		old: "!(s.cfg.Bootstrap == BootstrapImmediate && s.Lock.Record.Untouched())",
		new: "!s.Lock.Record.Untouched()",
	},
	{
		name: "absence-over-a-break", rule: "absence-counts", file: "internal/machine/observe.go",
		old: "	k.absentSince = 0 // somebody may have created, taken and deleted the lock meanwhile\n",
		new: "",
	},
	{
		name: "absence-needs-no-time", rule: "absence-counts", file: "internal/machine/lock.go",
		old: "	return l.absentSince.Add(s.observer().ObserverWait(wait)), true\n",
		new: "	return l.absentSince.Add(0 * wait), true\n",
	},
	{
		name: "absence-of-before-an-owner", rule: "absence-counts", file: "internal/machine/observe.go",
		old: "		k.absentSince = 0 // somebody has held it since it was created\n",
		new: "",
	},
	{
		name: "absent-though-deleted", rule: "absence-counts", file: "internal/member/absent.go",
		old: "return a.since, !was && (!moved || c.outer != nil)",
		new: "return a.since, (was || !was) && (!moved || moved)",
	},
	{
		name: "absent-though-it-was-ours", rule: "absence-counts", file: "internal/member/elections.go",
		old: "	s.absences.notes(c.lock.name, c.name())\n",
		new: "	_ = s\n",
	},
	{
		name: "absences-outlast-a-list", rule: "absence-counts", file: "internal/member/absent.go",
		old: "*a = absences{since: now, ",
		new: "*a = absences{since: min(now, max(a.since, 1)), ",
	},
	{
		name: "edits-restart-the-wait", rule: "unknown-is-waited-out", file: "internal/machine/observe.go",
		old: "if !sameObject || before.Owner != Unowned || unseen != ",
		new: "if true || unseen != ",
	},
	{
		name: "wait-goes-on-after-a-break", rule: "unknown-is-waited-out", file: "internal/machine/observe.go", from: 11000,
		old: "	if k.Owner == Unowned || k.Owner == Nobody {\n		k.since = s.now\n",
		new: "	if false {\n		k.since = s.now\n",
	},
	{
		name: "takes-what-only-a-read-showed", rule: "unknown-is-waited-out", file: "internal/machine/follow.go",
		old: "	if s.Lock.Version != s.Lock.streamed {\n		s.awaitStream()\n		return\n	}\n",
		new: "",
	},
	{
		name: "takes-a-crossing-for-a-restore", rule: "newer-by-version", file: "internal/machine/observe.go",
		old: "		case e.Sent > s.Lock.at:\n",
		new: "		case true:\n",
	},
	{
		name: "restored-store-goes-unnoticed", rule: "newer-by-version", file: "internal/machine/observe.go", class: Restore,
		old: "		case e.Sent > s.Lock.at:\n			s.restored(e)\n",
		new: "",
	},
	{
		name: "does-not-answer-for-its-record", rule: "answer-for-your-writes", file: "internal/machine/follow.go",
		old: "			s.answerFor()\n",
		new: "",
	},
	{
		name: "anybodys-mark-makes-it-free", rule: "bound-to-the-holder", file: "internal/machine/lock.go",
		old: "case r.Holder == \"\" && r.Bound():",
		new: "case r.Holder == \"\" && r.Mark != nil:",
	},
	{
		name: "ignores-minHold", rule: "no-flapping", file: "internal/machine/lead.go",
		old: "return max(s.succession.betterSince.Add(t.PreemptDelay), s.Term.Started.Add(t.MinHold))",
		new: "return s.succession.betterSince.Add(t.PreemptDelay)",
	},
	{
		name: "ignores-preemptDelay", rule: "no-flapping", file: "internal/machine/lead.go",
		old: "return max(s.succession.betterSince.Add(t.PreemptDelay), s.Term.Started.Add(t.MinHold))",
		new: "return s.Term.Started.Add(t.MinHold)",
	},
	{
		name: "drains-for-the-fallen", rule: "no-flapping", file: "internal/machine/candidates.go",
		old: "if !p.Ready || p.Trust != Proven || ",
		new: "if !p.Ready || ",
	},
	{
		name: "drains-for-nobody", rule: "no-flapping", file: "internal/machine/lead.go",
		old: "	case found.best != nil && !s.waits(s.drainAt()):\n",
		new: "	case found.best != nil && false:\n",
	},
	{
		name: "does-not-yield-to-Istio", rule: "left-to-istio", file: "internal/machine/lead.go",
		old: "	case s.yields():\n",
		new: "	case s.yields() && false:\n",
	},
	{
		name: "yields-to-Istio-unasked", rule: "left-to-istio", file: "internal/machine/istio.go",
		old: "s.preferredSince >= s.Term.asked }",
		new: "s.now > max(s.preferredSince, s.Term.asked).Add(s.cfg.Timing.RenewInterval) }",
	},
	// What follows breaks the member's own rules.
	{
		name: "old-lock-let-go-under-work", rule: "stop-before-release", file: "internal/member/migrate.go", class: Moves,
		old: "	if !c.inner.atWork() {",
		new: "	if true {",
	},
	{
		name: "start-ignores-the-old-lock's-deadline", rule: "sending-counts", file: "internal/member/handle.go", class: Moves,
		old: "min(deadline, c.outer.state.Term.Deadline)",
		new: "deadline",
	},
	{
		name: "extended-past-the-old-lock's-deadline", rule: "sending-counts", file: "internal/member/migrate.go", class: Moves,
		old: "min(deadline, inner.outer.state.Term.Deadline)",
		new: "max(deadline, inner.outer.state.Term.Deadline)",
	},
	{
		name: "token-of-the-new-lock", rule: "tokens-rise", file: "internal/member/handle.go", class: Moves,
		old: "max(token, c.outer.state.Term.Token)",
		new: "token",
	},
	{
		name: "token-of-the-lock-alone", rule: "tokens-rise", file: "internal/member/contest.go", class: Moves,
		old: "		Newest:      c.newest(),\n",
		new: "",
	},
	{
		name: "range-begins-at-once", rule: "tokens-rise", file: "internal/member/ranges.go", class: Moves,
		old: "		if !g.known.IsZero() {",
		new: "		if false {",
	},
	{
		name: "sent-when-answered", rule: "sending-counts", file: "internal/member/requests.go",
		old: "answer{sent: a.sent, entry: in.Entry",
		new: "answer{sent: m.now, entry: in.Entry",
	},
	{
		name: "unknown-is-refused", rule: "sending-counts", file: "internal/member/requests.go", from: 5100,
		old: "return machine.Unknown\n",
		new: "return machine.Refused\n",
	},
	{
		name: "session-ends-under-work", rule: "a-session-ends-once", file: "internal/member/elections.go",
		old: "		if !c.state.Settled(c.config(), m.now) {",
		new: "		if false {",
	},
	{
		name: "stops-are-not-told", rule: "dead-by-the-deadline", file: "internal/member/handle.go",
		old: "		m.out.add(stop)\n",
		new: "		_ = stop\n",
	},
	{
		name: "timers-are-forgotten", rule: "dead-by-the-deadline", file: "internal/member/timers.go",
		old: "	at := c.state.WakesAt()\n	if n :=",
		new: "	at := record.Instant(0)\n	if n :=",
	},
	{
		name: "told-what-a-list-of-before-shows", rule: "unknown-is-waited-out", file: "internal/member/watching.go",
		old: "	s.listSent, s.listAfter = at, m.newestOf(s.store)\n",
		new: "	s.listAfter = m.newestOf(s.store)\n",
	},
	{
		name: "absence-is-not-seen", rule: "newer-by-version", file: "internal/member/watching.go",
		old: "		if !seen[name] && s.shows(name) && !s.denies(name) {",
		new: "		if false {",
	},
	{
		name: "what-is-denied-is-absent", rule: "newer-by-version", file: "internal/member/watching.go", class: Moves,
		old: " && !s.denies(name) {",
		new: " {",
	},
	{
		name: "no-time-for-the-last-work", rule: "open-until-a-no", file: "internal/member/outage.go", class: Outages,
		old: "m.soundSince.Add(c.lastWork())",
		new: "m.soundSince.Add(c.firstWrite())",
	},
	{
		name: "holder-is-not-first", rule: "open-until-a-no", file: "internal/member/outage.go", class: Outages,
		old: "		return m.now.Add(machine.OutageUnbounded) // we look again at the next beat",
		new: "		return 0",
	},
	{
		name: "open-unasked", rule: "open-until-a-no", file: "internal/machine/outage.go", class: Outages,
		old: "	if silent := s.silentAt(stopAt); s.now < silent {",
		new: "	if silent := s.silentAt(stopAt); silent < 0 {",
	},
	{
		name: "open-for-longer", rule: "open-until-a-no", file: "internal/machine/outage.go", class: Outages,
		old: "s.validity.until.Add(s.cfg.Outage.For))",
		new: "s.validity.until.Add(2*s.cfg.Outage.For))",
	},
	{
		name: "request-of-an-earlier-term", rule: "forced-handover", file: "internal/machine/content.go",
		old: "		History:     l.History,\n",
		new: "		History:     l.History,\n		HandoverTo:  l.HandoverTo,\n",
	},
	{
		name: "request-for-the-dead", rule: "forced-handover", file: "internal/machine/forced.go",
		old: "		return \"no such member lives, as far as this member sees\"\n",
		new: "		return \"\"\n",
	},
	{
		name: "holds-on-without-writing", rule: "who cannot write the new lock lets go of the old one", file: "internal/member/turned.go", class: Moves,
		old: "held || w.failing",
		new: "held",
	},
	{
		name: "request-in-the-inner-lock", rule: "forced-handover", file: "internal/machine/forced.go", class: Moves,
		old: "	if to == \"\" || s.cfg.Inner {\n",
		new: "	if to == \"\" {\n",
	},
	{
		name: "beats-rise-by-one", rule: "seen-not-assumed", file: "internal/session/beats.go",
		old: "	return 1 + uint64(h.Sum32()%longestStride)",
		new: "	return 1 + 0*uint64(h.Sum32()%longestStride)",
	},
	{
		name: "refused-session-is-kept", rule: "a-session-ends-once", file: "internal/session/own.go", from: 7100,
		old: "o.renewed && o.refused == o.beat && ",
		new: "o.renewed && o.refused == o.beat && false && ",
	},
}
