package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// meddler is a stranger that edits sessions but leaves their beats alone, so that they look sound. It
// writes another group, another duration, or what the same session said before. It edits only one of the
// places that say how long a session lasts, since the guarantee does not hold if more are edited. A quarter
// of the runs has a meddler. A third of the meddlers also raise beats.
type meddler struct {
	w     *world
	rng   *rand.Rand
	every time.Duration
	// lasts writes a duration into the one place that the meddler edits.
	lasts func(*record.Record, time.Duration)
	// longest: the edited place is the member's longest lease. Nothing else says how long the leases of its
	// elections are, so members believe it.
	longest bool
	// raise draws how far the meddler raises the beat of a session, as nothing else it does; nil if it never does that.
	raise *rand.Rand
	// saved is what some sessions said before, by name; kept lists those names in the order of saving.
	saved map[string]*record.Record
	kept  []string
}

// pickMeddler picks the meddler of this run, or nil.
func (w *world) pickMeddler(rng *rand.Rand) *meddler {
	if rng.IntN(4) > 0 {
		return nil
	}
	m := &meddler{w: w, rng: rng, saved: map[string]*record.Record{}}
	m.every = time.Duration(float64(w.timing.LeaseDuration) * []float64{0.1, 0.4, 1.5}[rng.IntN(3)])
	place := rng.IntN(3)
	m.longest = place == 2
	m.lasts = []func(*record.Record, time.Duration){
		func(r *record.Record, d time.Duration) { r.Duration = d },
		func(r *record.Record, d time.Duration) {
			mark := *r.Mark
			mark.Duration, r.Mark = d, &mark
		},
		func(r *record.Record, d time.Duration) {
			member := *r.Member
			member.LongestLease, r.Member = int(d/time.Second), &member
		},
	}[place]
	if raise := rand.New(rand.NewPCG(w.seed, 0xd6e8feb86659fd93)); raise.IntN(3) == 0 {
		m.raise = raise
	}
	return m
}

// begin schedules the meddler's next visit.
func (m *meddler) begin() { m.w.after(time.Duration(1+m.rng.Int64N(int64(2*m.every))), m.meddle) }

func (m *meddler) meddle() {
	w := m.w
	if w.calm {
		return
	}
	m.begin()
	names := w.sessions()
	for _, name := range m.kept {
		if _, exists := w.store.find(name); !exists {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	name := names[m.rng.IntN(len(names))]
	at, exists := w.store.find(name)
	if !exists {
		m.putBack(name, nil)
		return
	}
	now := w.store.objects[at].Record
	if !now.Bound() || now.Member == nil {
		return
	}
	if m.raise != nil && m.raise.IntN(3) == 0 {
		by := 1 + m.raise.Uint64N([]uint64{1, 1000}[m.raise.IntN(2)])
		m.commit(name, now, SessionBeatRaised, func(r *record.Record) {
			mark := *r.Mark
			mark.Beat, r.Mark = mark.Beat+by, &mark
		})
		return
	}
	switch m.rng.IntN(4) {
	case 0:
		if m.saved[name] == nil {
			m.kept = append(m.kept, name)
		}
		m.saved[name] = now
	case 1:
		m.putBack(name, now)
	case 2:
		m.commit(name, now, SessionRelabelled, func(r *record.Record) { r.Group = "another" })
	case 3:
		d := time.Second * time.Duration(1+m.rng.IntN(2*int(w.timing.LeaseDuration/time.Second)))
		if !m.longest && m.rng.IntN(4) == 0 {
			d = 50 * time.Minute
		}
		m.commit(name, now, SessionLastsEdited, func(r *record.Record) { m.lasts(r, d) })
	}
}

// putBack writes again what an earlier session of the same incarnation said. In the class PutBack it may be the session of another
// member, which had the slot before.
func (m *meddler) putBack(name string, now *record.Record) {
	was := m.saved[name]
	if was != nil && (now == nil || now.Member.Identity == was.Member.Identity || m.w.options.Class == PutBack) {
		if f := m.w.judge.members[was.Member.Identity]; f != nil && !was.Released() {
			f.putBack = f.putBack || f.sessionEnded
		}
		m.commit(name, was, SessionPutBack, func(*record.Record) {})
		m.w.judge.putBackAt[name] = m.w.store.revision
	}
}

func (m *meddler) commit(name string, r *record.Record, f Fault, change func(*record.Record)) {
	edited := *r
	change(&edited)
	s, uid := &m.w.store, ""
	if at, exists := s.find(name); exists {
		if uid = s.objects[at].Version.UID; same(s.objects[at].Record, &edited) {
			return
		}
	} else {
		s.created++
		uid = fmt.Sprintf("uid%d", s.created)
	}
	m.w.logf("world", "%s: a stranger meddles with it (%v)", name, f)
	m.w.cov.saw(f)
	s.commit(m.w.now, name, &edited, uid)
}
