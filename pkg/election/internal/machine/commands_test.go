package machine

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// run carries out one line. Commands are:
//
//	member NAME [revision= location= weight= timing= minHold= preemptDelay= bootstrap= notBefore= provenAt=
//	            sharing=client-go|istio foreignWait= policy=none|weight|chain|within beat= range failopen=DURATION
//	            renewal=session|unlessForeign sight=apart|without othersLease=DURATION othersPercent=N
//	            longestEver=DURATION unpublished inner]
//	peer NAME [revision= location= ready= standing= preference= config= trust=]   gone NAME
//	session NAME [uid= holder= ended died=TIME proof= disowned=N lock=] [later]   session NAME gone   the directory shows a session object
//	session NAME holder= robbed=TIME   another's session was put over that of the member in its name, which may work until then
//	session NAME others=N     the same; N later members of its slot died, too
//	beat [calm] [sent=]       the stream shows a beat of our own session; calm, the next one is not late yet
//	quiet [sent=]             the same, and nothing is told
//	late                      the next beat of our session is late
//	newest REV                the store has shown this revision, of whatever
//	holderfirst INSTANT       until then a lock is left to the member that holds it
//	prefer REVISION|unset|unsynced [digest= blocked=]
//	stored held|free|empty [by= to= token= transitions= beat= duration= claim= renewal= session= uid= left=MEMBER
//	            acquired=TIME falls=N ...]  a member of ours
//	stored foreign|released [by= transitions= duration= key= times=configmap]  a foreign elector renews or takes; leaves
//	stored blank              a stranger takes the holder's name out and leaves the rest
//	edit FIELD=VALUE ...      a stranger changes fields and leaves the rest
//	back REV                  a stranger puts back what was stored then
//	delete   restore REV      restored REV: to what was stored then
//	stream [REV]   list [now sessions] [sent= rev= since=]   get [absent] [sent=]   getfailed
//	commit [late]             the write in flight is stored, or a given-up one; nobody sees it
//	reply committed|rejected|refused|unknown [sent= retryAfter=]
//	stopped   failed   expired   resign [reason=]
//	tick [DURATION]           to the next wake-up, or on for so long
//	run DURATION              the same with a store that answers at once; shows terms only
//	exchange [NAME]           the election is exchanged, as by a reload; or the member comes back as NAME
//	jitter N   pass DURATION   settled   standing   needsbeats   panics COMMAND
//
// Instants, sent= and since= are seconds since boot; a transcript begins at 100s.
func (e *environment) run(line string) {
	words := strings.Fields(line)
	name, rest := words[0], words[1:]
	first := ""
	a := arguments{}
	for i, w := range rest {
		k, v, found := strings.Cut(w, "=")
		switch {
		case found:
			a[k] = v
		case i == 0:
			first = w
		default:
			a[w] = "true"
		}
	}
	c, ok := commands[name]
	if !ok {
		panic("unknown command: " + line)
	}
	c(e, first, a)
}

var commands map[string]func(e *environment, first string, a arguments)

func init() {
	commands = map[string]func(e *environment, first string, a arguments){
		"member":  func(e *environment, first string, a arguments) { e.configure(first, a) },
		"peer":    peer,
		"gone":    gone,
		"prefer":  prefer,
		"session": session,
		"newest": func(e *environment, first string, _ arguments) {
			e.cfg.Newest = uint64(arguments{"rev": first}.number("rev", 0))
		},
		"holderfirst": func(e *environment, first string, _ arguments) {
			e.cfg.HolderFirst = record.Instant(arguments{"at": first}.duration("at", 0))
		},
		"beat": func(e *environment, first string, a arguments) {
			e.seeBeat(a.text("uid", "us"), e.sent(a, e.now))
			e.cfg.Beat.Late = first != "calm"
			e.step(BeatSeen{})
		},
		"quiet": func(e *environment, _ string, a arguments) {
			e.seeBeat(a.text("uid", "us"), e.sent(a, e.now))
			e.cfg.Beat.Late = false
		},
		"late": func(e *environment, _ string, _ arguments) {
			e.cfg.Beat.Late = true
			e.step(Tick{})
		},
		"stored": func(e *environment, first string, a arguments) { e.write(e.made(first, a)) },
		"edit":   edit,
		"delete": func(e *environment, _ string, _ arguments) { e.write(nil) },
		"back": func(e *environment, first string, _ arguments) {
			e.write(e.was(first).record)
		},
		"restored": func(e *environment, first string, _ arguments) {
			was := e.was(first)
			e.object, e.version, e.pending = was.record, was.version, nil
		},
		"exchange": func(e *environment, first string, _ arguments) { e.exchange(first) },
		"restore": func(e *environment, first string, _ arguments) {
			e.version.Revision = uint64(arguments{"rev": first}.number("rev", 1))
		},
		"stream": func(e *environment, first string, _ arguments) {
			shown := entry{record: e.object, version: e.version}
			if first != "" {
				shown = e.was(first)
			}
			e.step(Observed{Source: Stream, Record: shown.record, Version: shown.version, Jitter: e.jitter})
		},
		"list": func(e *environment, _ string, a arguments) {
			o := Observed{Source: List, Record: e.object, Version: e.version, Sent: e.sent(a, e.now), Jitter: e.jitter}
			o.AbsentSince = record.Instant(a.duration("since", 0))
			if was, found := e.history[uint64(a.number("rev", 0))]; found {
				o.Record, o.Version = was.record, was.version
			}
			if a["sessions"] == "true" {
				o.View = &View{Peers: e.peers, Sessions: e.sessions}
			}
			e.step(o)
		},
		"get": func(e *environment, first string, a arguments) {
			o := Observed{Source: ReadBack, Record: e.object, Version: e.version, Sent: e.sent(a, e.readAt), Jitter: e.jitter}
			if e.object == nil || first == "absent" {
				o.Record, o.Version = nil, record.Version{}
			}
			e.step(o)
		},
		"getfailed": func(e *environment, _ string, _ arguments) { e.step(ReadFailed{}) },
		"commit":    func(e *environment, _ string, _ arguments) { e.commit() },
		"reply":     reply,
		"stopped":   func(e *environment, _ string, _ arguments) { e.step(RunnersStopped{}) },
		"failed":    func(e *environment, _ string, _ arguments) { e.step(RunnersFailed{}) },
		"expired":   func(e *environment, _ string, _ arguments) { e.step(WorkExpired{}) },
		"pause": func(e *environment, _ string, a arguments) {
			e.step(Paused{Reason: Reason(strings.ReplaceAll(a["reason"], "-", " "))})
		},
		"resume": func(e *environment, _ string, _ arguments) { e.step(Resumed{}) },
		"resign": func(e *environment, _ string, a arguments) {
			e.step(Resign{Reason: Reason(a.text("reason", string(ReasonShutdown)))})
		},
		"tick": tick,
		"run":  run,
		"pass": func(e *environment, first string, _ arguments) {
			e.now = e.now.Add(arguments{"d": first}.duration("d", 0))
		},
		"jitter": func(e *environment, first string, _ arguments) { _, _ = fmt.Sscan(first, &e.jitter) },
		"settled": func(e *environment, _ string, _ arguments) {
			fmt.Fprintf(e.out, "  %v\n", e.state.Settled(e.cfg, e.now))
		},
		"needsbeats": func(e *environment, _ string, _ arguments) {
			fmt.Fprintf(e.out, "  %v\n", e.state.NeedsBeats())
		},
		"standing": func(e *environment, _ string, _ arguments) {
			fmt.Fprintf(e.out, "  good from %s\n", seconds(e.state.standing.downUntil))
		},
		"panics": func(e *environment, first string, a arguments) {
			pending := e.pending
			defer func() {
				fmt.Fprintf(e.out, "  panic: %v\n", recover())
				e.pending = pending
			}()
			switch with := a.text("with", ""); {
			case first == "nonsense":
				e.step(nil)
			case with == "nil":
				e.step(DirectoryChanged{})
			default:
				commands[first](e, with, a)
			}
		},
	}
}

// was is what was stored at a revision.
func (e *environment) was(revision string) entry {
	of, known := e.history[uint64(arguments{"rev": revision}.number("rev", 0))]
	if !known {
		panic("nothing was stored at revision " + revision)
	}
	return of
}

func (e *environment) sent(a arguments, otherwise record.Instant) record.Instant {
	return record.Instant(a.duration("sent", time.Duration(otherwise)))
}

func peer(e *environment, name string, a arguments) {
	p := Peer{Member: member(name, a), Trust: Proven}
	if a.text("trust", "proven") != "proven" {
		p.Trust = OnProbation
	}
	e.setPeer(p)
	e.showDirectory()
}

func gone(e *environment, name string, _ arguments) {
	var left []Peer
	for _, p := range e.peers {
		if p.Identity != identity(name) {
			left = append(left, p)
		}
	}
	e.peers = left
	e.showDirectory()
}

func prefer(e *environment, revision string, a arguments) {
	p := record.Prefer(revision)
	switch revision {
	case "unset":
		p = record.Prefer("")
	case "unsynced":
		p = record.Preferred{State: record.PreferredNotSynced}
	}
	p.Blocked, p.NoTakeover = a.text("blocked", ""), a["takeover"] == "no"
	var event Event = Tick{}
	if p.State != e.cfg.Preferred.State || p.Revision != e.cfg.Preferred.Revision {
		event = PreferenceChanged{}
	}
	e.cfg.Preferred, e.cfg.Digest = p, a.text("digest", "d")
	e.step(event)
}

func reply(e *environment, outcome string, a arguments) {
	if e.pending == nil {
		panic("no write is in flight")
	}
	w := WriteDone{Beat: e.pending.Beat, Sent: e.sent(a, e.asked), Jitter: e.jitter, RetryAfter: a.duration("retryAfter", 0)}
	switch outcome {
	case "committed":
		e.commit()
		w.Answer, w.Record, w.Version = Committed, e.content, e.stored
	case "rejected":
		w.Answer = Conflicted
	case "refused":
		w.Answer = Refused
	case "unknown":
		w.Answer = Unknown
	}
	e.pending = nil
	e.step(w)
}

// tick lets time go by, to the next wake-up or for a while, and wakes the machine at each instant that it
// asked for.
func tick(e *environment, first string, _ arguments) {
	if first == "" {
		if e.wake == 0 {
			fmt.Fprintln(e.out, "  nothing to wake for")
			return
		}
		e.now, e.wake = max(e.now, e.wake), 0
		e.step(Tick{})
		return
	}
	end := e.now.Add(arguments{"d": first}.duration("d", 0))
	for e.wake != 0 && e.wake <= end {
		e.now, e.wake = max(e.now, e.wake), 0
		e.step(Tick{})
	}
	e.now = end
}

// run lets time go by while every write is committed, answered and streamed at once. It prints only what
// happens to terms, and stops when the machine waits for the script.
func run(e *environment, first string, _ arguments) {
	end, out := e.now.Add(arguments{"d": first}.duration("d", 0)), e.out
	var quiet bytes.Buffer
	e.out = &quiet
	defer func() { e.out = out }()
	for role := e.state.Role; e.state.Role == role; {
		switch {
		case e.pending != nil:
			reply(e, "committed", nil)
			e.run("stream")
		case e.wake != 0 && e.wake <= end:
			tick(e, "", nil)
		default:
			e.now = end
			role = 0
		}
	}
	for line := range strings.Lines(quiet.String()) {
		if strings.HasPrefix(line, "  STOP") || strings.HasPrefix(line, "  START") || strings.HasPrefix(line, "  report") {
			fmt.Fprint(out, line)
		}
	}
	fmt.Fprintf(out, "  = %s\n", e.summary())
}
