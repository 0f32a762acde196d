package sim

import (
	"math/rand/v2"
	"time"
)

// denials are writes of one lock that do not go through, while all other requests do: the store refuses them, since members lack a
// right, or they hang.
type denials struct {
	w   *world
	rng *rand.Rand
	// until says until when a host cannot write a lock; the end of the run if it never can.
	until map[denial]int64
	every time.Duration
	// hang: the writes hang; otherwise they are refused.
	hang bool
}

// denial is a lock that a host cannot write.
type denial struct {
	host *host
	lock string
}

// pickDenials picks the denials of this run, or nil. Where terms outlast an outage the writes hang: a refusal ends such a term.
func (w *world) pickDenials(rng *rand.Rand) *denials {
	hang, seldom := w.silent(), 6
	if hang {
		seldom = 2
	}
	if rng.IntN(seldom) > 0 || !hang && !w.happens(Denied) {
		return nil
	}
	every := time.Duration(float64(w.timing.LeaseDuration) * []float64{1, 3, 8}[rng.IntN(3)])
	return &denials{w: w, rng: rng, until: map[denial]int64{}, every: every, hang: hang}
}

// begin schedules the next denial.
func (d *denials) begin() {
	if d != nil {
		d.w.after(1+upTo(d.rng, 2*d.every), d.deny)
	}
}

// deny strikes one host, or all.
func (d *denials) deny() {
	w := d.w
	if w.calm {
		return
	}
	d.begin()
	l := w.locks[d.rng.IntN(len(w.locks))]
	lock := l.own.Name
	if l.moves() && d.rng.IntN(3) == 0 {
		lock = l.old.Name
	}
	until := min(w.now+int64(upTo(d.rng, 10*w.timing.LeaseDuration)), w.calmAt)
	hosts := w.hosts
	if d.rng.IntN(3) > 0 {
		n := d.rng.IntN(len(w.hosts))
		hosts = hosts[n : n+1]
		if !d.hang && d.rng.IntN(3) == 0 {
			until = w.endAt
		}
	}
	for _, h := range hosts {
		w.logf(h.name, "cannot write %s for %v", lock, time.Duration(until-w.now))
		d.until[denial{h, lock}] = max(d.until[denial{h, lock}], until)
	}
}

// blocks says whether the host cannot write the lock.
func (d *denials) blocks(h *host, lock string) bool {
	return d != nil && d.w.now < d.until[denial{h, lock}]
}

// strike picks the fate of a write that is blocked.
func (d *denials) strike() fate {
	if d.hang {
		d.w.cov.saw(LockHangs)
		return []fate{requestLost, replyLost, requestLate}[d.rng.IntN(3)]
	}
	d.w.cov.saw(Denied)
	return refused
}

// blocksElection says whether the host cannot write a lock of the election.
func (d *denials) blocksElection(h *host, e int) bool {
	l := h.w.locks[e]
	return d.blocks(h, l.own.Name) || l.moves() && d.blocks(h, l.old.Name)
}

// lately says whether a host could not write a lock of the election until calm, or cannot do so yet.
func (d *denials) lately(e int) bool { return d != nil && d.lasts(e, d.w.calmAt) }

// forGood says whether a host can never again write a lock of the election.
func (d *denials) forGood(e int) bool { return d != nil && d.lasts(e, d.w.endAt) }

func (d *denials) lasts(e int, till int64) bool {
	l := d.w.locks[e]
	for _, h := range d.w.hosts {
		if d.until[denial{h, l.own.Name}] >= till || d.until[denial{h, l.old.Name}] >= till {
			return true
		}
	}
	return false
}
