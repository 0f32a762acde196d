package sim

import (
	"math/rand/v2"
	"time"
)

// denials are rights that members lack: the store refuses a member's writes of one lock, while all its other requests
// go through.
type denials struct {
	w   *world
	rng *rand.Rand
	// until says until when a host may not write a lock; the end of the run if it never may.
	until map[denial]int64
	every time.Duration
}

// denial is the right that a host lacks.
type denial struct {
	host *host
	lock string
}

// pickDenials picks the missing rights of this run, or nil.
func (w *world) pickDenials(rng *rand.Rand) *denials {
	if rng.IntN(6) > 0 || !w.happens(Denied) {
		return nil
	}
	every := time.Duration(float64(w.timing.LeaseDuration) * []float64{1, 3, 8}[rng.IntN(3)])
	return &denials{w: w, rng: rng, until: map[denial]int64{}, every: every}
}

// begin schedules the next denial.
func (d *denials) begin() {
	if d != nil {
		d.w.after(1+upTo(d.rng, 2*d.every), d.deny)
	}
}

// deny takes a right from one host, or from all.
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
		if d.rng.IntN(3) == 0 {
			until = w.endAt
		}
	}
	for _, h := range hosts {
		w.logf(h.name, "may not write %s for %v", lock, time.Duration(until-w.now))
		d.until[denial{h, lock}] = max(d.until[denial{h, lock}], until)
	}
}

// refuses says whether the host lacks the right to write the lock.
func (d *denials) refuses(h *host, lock string) bool {
	return d != nil && d.w.now < d.until[denial{h, lock}]
}

// keepFrom says whether the host lacks a right that it needs to lead the election.
func (d *denials) keepFrom(h *host, e int) bool {
	l := h.w.locks[e]
	return d.refuses(h, l.own.Name) || l.moves() && d.refuses(h, l.old.Name)
}

// lately says whether a host lacked a right to write a lock of the election until calm, or lacks one still.
func (d *denials) lately(e int) bool { return d != nil && d.lasts(e, d.w.calmAt) }

// forGood says whether a host never gets back a right to write a lock of the election.
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
