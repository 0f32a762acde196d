package explore

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// The canonical form of the code that drives machine and session is made by hand, like the form of sessions.
// driverFields says of each field of package member what the form holds for it, so that no field is
// forgotten. Empty means nothing: no decision depends on the field, or it follows from the form.
var driverFields = map[string]string{
	"Member.cfg":          "its heritage; all else follows from the incarnation",
	"Member.identity":     "",
	"Member.now":          "", // of the last step
	"Member.wall":         "",
	"Member.out":          "", // the caller's
	"Member.log":          "",
	"Member.room":         "", // memory
	"Member.notBefore":    "", // no store is restored here
	"Member.setBack":      "",
	"Member.hushed":       "", // for the log
	"Member.preference":   "what the process has seen",
	"Member.preferred":    "", // follows from that
	"Member.published":    "plain",
	"Member.publishAt":    "due",
	"Member.born":         "since a lease",
	"Member.queue":        "that nothing waits",
	"Member.asked":        "the requests of the process",
	"Member.requests":     "", // names
	"Member.watches":      "",
	"Member.salt":         "", // the only contest's
	"Member.timers":       "", // the only contest's
	"Member.contests":     "the only one",
	"Member.strays":       "", // no election is removed here
	"Member.streams":      "all",
	"Member.going":        "", // told by leavingSince
	"Member.lowered":      "", // looked through before each use
	"Member.unready":      "", // runners are always ready
	"Member.lacks":        "",
	"Member.lags":         "",
	"Member.crowded":      "",
	"Member.heedful":      "", // follows from the state
	"Member.unpublished":  "", // follows from whether a beat was shown: no election comes later
	"Member.byBeats":      "",
	"Member.longestGrace": "", // the only one
	"Member.toldLate":     "plain",
	"Member.lateNext":     "due",
	"Member.sendings":     "", // nobody stores other times than were sent
	"Member.open":         "", // no term fails open, and so what follows
	"Member.openNow":      "",
	"Member.openStale":    "",
	"Member.health":       "", // told, never asked
	"Member.postponed":    "", // no lock strays
	"Member.setup":        "", // the same for all
	"Member.others":       "", // all members have one timing
	"Member.unlike":       "", // and so none differs
	"Member.gone":         "", // no election is removed here
	"Member.unshown":      "until, and the last record; there are no foreign electors",
	"Member.stores":       "",
	"Member.disowned":     "all",
	"Member.created":      "", // for the log
	"Member.untold":       "", // for the log
	"Member.heard":        "", // for the log; no term fails open here
	"Member.unheardOf":    "", // the same
	"Member.dir":          "see sessionFields",
	"Member.own":          "see sessionFields",
	"Member.view":         "see sessionFields",
	"Member.trouble":      "", // for the log
	"Member.beat":         "when it went out",
	"Member.soundSince":   "", // for terms that fail open
	"Member.heardOf":      "whether that was since the list that is under way was asked for",
	"Member.sight":        "as far as beats do not come back in time",
	"Member.dimmed":       "", // for terms that fail open
	"Member.answeredAt":   "", // for terms that fail open
	"Member.provenAt":     "", // the session's
	"Member.viewStale":    "", // not between steps
	"Member.sessionNext":  "due",
	"Member.viewNext":     "due",
	"Member.queueNext":    "", // nothing waits
	"Member.streamNext":   "due",
	"Member.sightNext":    "due",
	"Member.failed":       "", // stores can always be used
	"Member.unreadyAt":    "due",
	"Member.handed":       "how many",
	"Member.handedBy":     "due",
	"Member.giveUpAt":     "until",
	"Member.leaving":      "plain",
	"Member.ending":       "", // not between steps

	"contest.m":         "",
	"contest.election":  "", // the same for all
	"contest.lock":      "",
	"contest.stray":     "", // no lock strays
	"contest.outer":     "", // nothing migrates, and so what follows
	"contest.inner":     "",
	"contest.waiting":   "",
	"contest.preferred": "", // what the process has seen
	"contest.heldOff":   "", // for terms that fail open
	"contest.state":     "see fields",
	"contest.began":     "", // before every list
	"contest.listed":    "plain",
	"contest.over":      "it is not looked at any more",
	"contest.beats":     "whether it goes by the present ones",
	"contest.leader":    "", // told, never asked
	"contest.health":    "",
	"contest.token":     "the work's",
	"contest.working":   "plain",
	"contest.mute":      "", // nothing waits
	"contest.jeopardy":  "plain",
	"contest.open":      "", // for terms that fail open
	"contest.noticeAt":  "due",
	"contest.alarm":     "when it is to be told",
	"contest.takenOver": "", // for the log
	"contest.wakeAt":    "", // the earliest of these
	"contest.slot":      "",
	"contest.place":     "",

	"stream.store":        "",
	"stream.names":        "",
	"stream.byLock":       "the only contest",
	"stream.watch":        "whether there is one",
	"stream.listSent":     "", // told with each list
	"stream.listAfter":    "", // no store is restored here
	"stream.view":         "", // not between steps
	"stream.restart":      "", // a watch ends at once
	"stream.relisting":    "plain",
	"stream.unlisted":     "", // until the first list the stream is cut as well, and once the lock is listed it does not matter
	"stream.trial":        "", // the only name
	"stream.trials":       "", // each trial ends at once, or with the cut
	"stream.passed":       "", // a watch ends at once
	"stream.listing":      "plain",
	"stream.begunAt":      "see heardOf",
	"stream.beginAt":      "", // no election is added later
	"stream.heardAt":      "by when it must be heard of: streamNext",
	"stream.listPatience": "plain",
	"stream.cut":          "plain",
	"stream.denied":       "", // no watch goes by names here
	"stream.absences":     "", // no election is added later
	"stream.newest":       "order, of the lock's",

	"queue.timeout": "",
	"queue.limit":   "", // beyond what happens in a tick
	"queue.lanes":   "that nothing waits",

	"lane.store":     "",
	"lane.heldAt":    "", // nobody is throttled here
	"lane.heldUntil": "",
	"lane.probeAt":   "",
	"lane.busy":      "the requests of the process",
	"lane.mute":      "", // nothing waits
	"lane.queues":    "that nothing waits",

	"sight.dimSince": "since a lease",
	"sight.seenAt":   "where it is later than the last beat would last",
	"sight.clearAt":  "until",

	"alarm.report": "its kind",
	"alarm.at":     "due",

	"Heritage.Pause":     "the instant at which the process comes back",
	"Heritage.short":     "up to what makes a difference",
	"Heritage.notBefore": "",
	"Heritage.unshown":   "see Member.unshown",
	"Heritage.newest":    "", // no store is restored here
	"Heritage.bounds":    "",
	"Heritage.saw":       "as the member's own",
	"Heritage.hushed":    "",
}

// driver adds what a member knows besides its machine and session.
func (c *canon) driver(w *world, m *proc) {
	d := look(m.member)
	c.add(c.text(d.text("leaving")), plain)
	c.add(c.text(d.text("published")), plain)
	c.flag(d.is("toldLate"))
	for _, name := range []string{"publishAt", "unreadyAt", "handedBy", "sessionNext", "viewNext", "streamNext", "sightNext", "lateNext"} {
		c.instant(d.instant(name), due)
	}
	c.instant(d.instant("giveUpAt"), until)
	c.since(d.instant("born"), lease(c.timing))
	c.add(int64(d.get("handed").v.Len()), plain)
	c.shortLives(d.get("cfg").get("Heritage"))
	c.unshown(d)

	beat := d.get("beat").instant("Sent")
	reach := record.Instant(0)
	if beat != 0 {
		reach = beat.Add(c.timing.Validity() - c.timing.StopGrace)
	}
	c.sightOf(d.get("sight"), reach)

	disowned := d.get("disowned").v
	c.add(int64(disowned.Len()), plain)
	for locks := disowned.MapRange(); locks.Next(); { // there is at most one
		one := inside(locks.Value())
		of := one.get("Disowned")
		c.flag(one.is("over"))
		c.uid(of.text("Lock"))
		c.grouped(beatsOfLock, c.who, of.uint("Beat"))
	}
	lanes := d.get("queue").get("lanes").v
	for n := range lanes.Len() {
		queues := inside(lanes.Index(n).Elem()).get("queues").v
		for class := range queues.Len() {
			if queues.Index(class).Len() > 0 {
				panic("explore: a request waits, which the canonical form does not know")
			}
		}
	}
	streams := d.get("streams").v
	for n := range streams.Len() {
		one := inside(streams.Index(n).Elem())
		store, listing := int(one.get("store").int("ID")), one.is("listing")
		c.flag(one.uint("watch") != 0, listing, listing && d.instant("heardOf") > one.instant("begunAt"), one.is("cut"), one.is("relisting"))
		c.add(min(one.int("listPatience"), int64(mostListPatience)), plain)
		if store == int(w.x.election.Locks.ID) {
			c.add(int64(one.uint("newest")), order) // #nosec G115 -- small
		}
	}
	all := d.get("contests").get("all").v
	c.add(int64(all.Len()), plain)
	for n := range all.Len() {
		one := inside(all.Index(n).Elem())
		beats, since := one.instant("beats"), d.get("beat").instant("Since")
		c.flag(one.is("listed"), one.is("working"), one.is("jeopardy"), beats != 0, beats == since, m.work.beats == since)
		c.instant(one.instant("noticeAt"), due)
		if alarm := one.get("alarm").v; alarm.IsNil() {
			c.add(0, plain)
		} else {
			raised := inside(alarm.Elem())
			c.add(int64(raised.get("report").uint("Kind")), plain) // #nosec G115 -- small
			c.instant(raised.instant("at"), due)
		}
	}
}

// mostListPatience bounds how long a list may say nothing.
const mostListPatience = 30 * tick

func (c *canon) since(at record.Instant, reach int) {
	c.words = append(c.words, word{value: int64(at), class: since, reach: int16(reach)}) // #nosec G115 -- small
}

// heritage adds what one incarnation leaves to the next.
func (c *canon) heritage(h *member.Heritage) {
	left := look(h)
	c.shortLives(left)
	c.sightOf(left.get("saw"), 0)
	c.unshown(left)
}

// unshown adds until when somebody may be at work under the lock, and what the stream showed last, for the next part in its contest.
func (c *canon) unshown(of private) {
	at := record.Instant(0)
	for locks := of.get("unshown").v.MapRange(); locks.Next(); { // there is at most one
		at = record.Instant(locks.Value().FieldByName("electors").FieldByName("robbed").Int())
		c.walk(locks.Value().FieldByName("last"), nil)
	}
	c.instant(at, until)
}

// shortLives adds how many incarnations in a row lived for less than a lease, capped at the number from
// which the pause of the next incarnation stays the same.
func (c *canon) shortLives(left private) { c.add(min(left.int("short"), 2), plain) }

// sightOf adds whether beats come back in time. A term could rely on the last beat until reach.
func (c *canon) sightOf(s private, reach record.Instant) {
	dim := s.instant("dimSince")
	c.since(max(reach, s.instant("seenAt")), lease(c.timing))
	c.since(dim, lease(c.timing))
	if dim != 0 {
		c.instant(s.instant("clearAt"), until)
	}
}
