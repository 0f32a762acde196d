package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// words are what kubelets and operators say of members in a run (rule words-need-silence): true things and false ones,
// at any time. Each word is that of a speaker, whose decisions are the product's own session.Word.
type words struct {
	w     *world
	rng   *rand.Rand
	every time.Duration
	// noise is how often a speaker's request fails, and frozen how often the speaker stands still between two steps.
	noise, frozen float64
	// awayUntil is when the store last answered everybody again, or will, and awayFrom when it fell silent.
	awayFrom, awayUntil int64
}

// wordKinds are the proofs that are words.
var wordKinds = []record.Proof{record.ProofOperator, record.ProofKubelet, record.ProofOutOfService}

// pickWords decides whether anybody speaks in this run, and which words each host's members accept.
func (w *world) pickWords(rng *rand.Rand) {
	if rng.IntN(3) > 0 {
		return
	}
	s := &words{w: w, rng: rng, noise: []float64{0, 0.02, 0.08}[rng.IntN(3)], frozen: []float64{0, 0.02}[rng.IntN(2)]}
	s.every = time.Duration(float64(w.timing.LeaseDuration) * []float64{0.2, 0.5, 1.5}[rng.IntN(3)])
	for _, h := range w.hosts {
		for _, kind := range wordKinds {
			if rng.IntN(4) > 0 {
				h.accepts = append(h.accepts, kind)
			}
		}
	}
	w.words = s
}

// begin schedules the next words.
func (s *words) begin() {
	if s != nil {
		s.w.after(time.Duration(1+s.rng.Int64N(int64(2*s.every))), s.speak)
	}
}

// away: the store answers nobody for d.
func (s *words) away(d time.Duration) {
	if s == nil {
		return
	}
	if s.w.now > s.awayUntil {
		s.awayFrom = s.w.now
	}
	s.awayUntil = max(s.awayUntil, s.w.now+int64(d))
}

func (s *words) chance(p float64) bool { return p > 0 && s.rng.Float64() < p }

// speak has somebody speak of a member, and mostly of one that is in trouble.
func (s *words) speak() {
	if s.w.calm {
		return
	}
	s.begin()
	if s.rng.IntN(4) == 0 {
		s.taint()
		return
	}
	if identity := s.subject(); identity != "" {
		s.speakOf(identity)
	}
}

// troubled is called when a process has just died or is frozen. Often somebody notices, and speaks soon.
func (s *words) troubled(p *proc) {
	if s == nil || s.rng.IntN(4) == 0 {
		return
	}
	identity := p.inc.identity
	s.w.after(upTo(s.rng, s.w.timing.RenewInterval), func() {
		if !s.w.calm {
			s.speakOf(identity)
		}
	})
}

// speakOf has somebody say that the identity is dead.
func (s *words) speakOf(identity string) {
	d := record.Death{Proof: wordKinds[s.rng.IntN(2)], Identity: identity, By: "somebody", How: "said to be dead"}
	of := identity
	if s.rng.IntN(12) == 0 { // the speaker takes one member for another
		of = s.w.judge.identities[s.rng.IntN(len(s.w.judge.identities))]
	}
	name := s.w.judge.members[of].sessionName
	if name == "" {
		return // it never had a session
	}
	s.w.logf("world", "somebody is about to say that %s is dead (%s, %s)", identity, d.Proof, name)
	p := s.newSpeaker(name, d)
	p.until = s.w.now + int64(upTo(s.rng, 3*s.w.timing.LeaseDuration))
	p.hear()
}

// subject picks an identity: one that ever was, or one whose process is dead, frozen or cut off, or one that lives.
func (s *words) subject() string {
	all := s.w.judge.identities
	if len(all) == 0 {
		return ""
	}
	var wanted func(*memberFile) bool
	switch s.rng.IntN(8) {
	case 0:
		return all[s.rng.IntN(len(all))]
	case 1, 2:
		wanted = func(f *memberFile) bool { return f.i.p.dead }
	case 3:
		wanted = func(f *memberFile) bool { return f.i.p.dead && f.i.p.works() }
	case 4, 5:
		wanted = func(f *memberFile) bool { return f.i.p.paused && !f.i.p.dead }
	case 6:
		wanted = func(f *memberFile) bool { return s.w.now < f.i.p.h.link.writesUntil && !f.i.p.dead }
	default:
		wanted = func(f *memberFile) bool { return !f.i.p.dead }
	}
	var found []string
	for _, identity := range all {
		f := s.w.judge.members[identity]
		if f.sessionName == "" || f.sessionEnded || f.i.p.inc != f.i || !wanted(f) {
			continue
		}
		found = append(found, identity)
	}
	if len(found) == 0 {
		return ""
	}
	return found[s.rng.IntN(len(found))]
}

// taint has an operator mark a host as switched off. A member that sees that reads the sessions, after a while.
func (s *words) taint() {
	w := s.w
	h := w.hosts[s.rng.IntN(len(w.hosts))]
	if h.proc != nil && !h.proc.paused && s.rng.IntN(3) > 0 {
		return // mostly of those in trouble
	}
	w.store.revision++ // the store keeps nodes as well
	t := session.Taint{NodeUID: h.name, BootID: h.boots(), At: w.store.revision}
	since := w.now
	w.logf("world", "%s is said to be out of service", h.name)
	w.after(s.pause(time.Second), func() {
		if w.calm || w.now < s.awayUntil {
			return
		}
		for _, e := range slices.Clone(w.store.objects) {
			if !t.SpeaksOf(group, session.Shown(e)) {
				continue
			}
			d := record.Death{Proof: record.ProofOutOfService, Identity: e.Record.Holder, By: "taint", How: "its node is out of service"}
			p := s.newSpeaker(e.Name, d)
			p.seen, p.saidAt = session.Shown(e), since
			p.until = w.now + int64(w.timing.LeaseDuration)
			p.begin()
		}
	})
}

// boots is the boot of the host's kernel: each process of the host is of a boot of its own in half of the runs.
func (h *host) boots() string { return strconv.Itoa(h.booted) }

// speaker says one word, and ends the session if the word counts, as election.BuryOnWord does.
type speaker struct {
	s     *words
	clock clock
	name  string
	death record.Death
	seen  session.Shown
	word  *session.Word
	// saidAt is when the session was as it was seen, and begunAt when the wait for its silence began. failedAt is when
	// the speaker last noticed that a read had failed. The speaker gives up at until.
	saidAt, begunAt, failedAt, until int64
	over                             bool
}

func (s *words) newSpeaker(name string, d record.Death) *speaker {
	const most = drift*1e6 - 1
	return &speaker{s: s, name: name, death: d, clock: clock{offset: int64(time.Hour), ppm: []int64{-most, 0, most, most}[s.rng.IntN(4)]}}
}

func (p *speaker) now() record.Instant { return p.clock.local(p.s.w.now) }

// pause is a time of about d, or much longer if the speaker is frozen meanwhile.
func (s *words) pause(d time.Duration) time.Duration {
	if s.chance(s.frozen) {
		d += upTo(s.rng, 2*s.w.timing.LeaseDuration)
	}
	return d
}

func (s *words) latency() time.Duration { return time.Millisecond + upTo(s.rng, 10*time.Millisecond) }

// later does do after d, unless the speaker gives up.
func (p *speaker) later(d time.Duration, do func()) {
	w := p.s.w
	w.after(p.s.pause(d), func() {
		if !p.over && !w.calm && w.now < p.until {
			do()
		}
	})
}

// hear reads the session, and then speaks at once or after some thought.
func (p *speaker) hear() {
	p.later(p.s.latency(), func() {
		if p.s.w.now < p.s.awayUntil {
			return
		}
		p.seen, p.saidAt = session.Shown(p.s.w.store.read(p.name)), p.s.w.now
		switch r := p.seen.Record; {
		case r == nil || r.Member == nil:
		case r.Holder != "" && r.Holder != p.death.Identity:
			p.s.w.cov.saw(WordOfAnother)
		case !slices.Contains(r.Member.Proofs, p.death.Proof):
			p.s.w.cov.saw(WordUnlisted)
		}
		thought := time.Duration(0)
		if p.s.rng.IntN(3) == 0 {
			thought = upTo(p.s.rng, p.s.w.timing.LeaseDuration)
		}
		p.later(p.s.latency()+thought, p.begin)
	})
}

// begin begins to wait for the silence of the session.
func (p *speaker) begin() {
	w := p.s.w
	word, err := session.Hear(p.now(), p.seen, p.death)
	if err != nil {
		w.logf("world", "%s: the word of %s does not count: %v", p.name, p.death.Identity, err)
		w.cov.saw(WordRefused)
		return
	}
	w.logf("world", "%s: %s is said to be dead (%s)", p.name, p.death.Identity, p.death.Proof)
	w.cov.saw(WordSaid)
	p.word, p.begunAt, p.failedAt = word, w.now, 0
	p.look()
}

// look reads the session. A read may fail at once, get no answer, or be answered late.
func (p *speaker) look() {
	w, s := p.s.w, p.s
	sent, back := p.now(), s.latency()
	failed := func() {
		p.failedAt = w.now
		p.word.Failed()
		p.later(p.word.Pause(), p.look)
	}
	if s.chance(s.noise) {
		switch s.rng.IntN(3) {
		case 0:
			p.later(s.latency(), failed)
			return
		case 1:
			p.later(w.timeout, failed)
			return
		}
		back += upTo(s.rng, 2*w.timing.LeaseDuration)
	}
	p.later(s.latency(), func() {
		if w.now < s.awayUntil {
			p.later(w.timeout, failed)
			return
		}
		e := session.Shown(w.store.read(p.name))
		p.later(back, func() { p.answered(sent, e) })
	})
}

func (p *speaker) answered(sent record.Instant, e session.Shown) {
	w, s := p.s.w, p.s
	heard, end, err := p.word.Answered(sent, p.now(), e)
	switch {
	case err != nil:
		w.logf("world", "%s: the word of %s counts no more: %v", p.name, p.death.Identity, err)
		w.cov.saw(WordRefuted)
		if s.rng.IntN(3) == 0 { // the same word again
			p.later(upTo(s.rng, w.timing.LeaseDuration), p.begin)
		}
	case heard == session.Over:
	case heard == session.PutEnd:
		p.put(end)
	default:
		p.later(p.word.Pause(), p.look)
	}
}

// put writes the end of the session. The write may be lost or late, and its reply as well.
func (p *speaker) put(end record.Record) {
	w, s := p.s.w, p.s
	how := p.decides()
	lost, late, silent := s.chance(s.noise), s.chance(s.noise), s.chance(s.noise)
	delay := s.latency()
	if late {
		delay += w.timeout + upTo(s.rng, 2*w.timing.LeaseDuration)
	}
	if lost || late || silent {
		p.later(w.timeout, p.look)
	}
	if lost || w.now < s.awayUntil {
		return
	}
	w.after(s.pause(delay), func() {
		if w.calm {
			return
		}
		before := w.store.read(p.name)
		stored, err := w.store.put(w.now, p.name, &end, p.word.Seen())
		switch {
		case err == nil:
			w.logf("world", "%s: the session of %s is ended on a word", p.name, before.Record.Holder)
			w.judge.spoken(p, how, before.Record, stored.Version.UID)
			p.over = p.over || !late && !silent
		case !late && !silent:
			p.later(p.word.Pause(), p.look)
		}
	})
}
