package runners

import "time"

// Restart says how a runner that ends before its term is run again. A zero field takes its value from
// DefaultRestart.
type Restart struct {
	// First is the wait after the first failure; it doubles with each failure, up to Most.
	First, Most time.Duration
	// Healthy is how long a run must last for the supervision to forget earlier failures.
	Healthy time.Duration
	// Failures is the number of failures in a row that makes the supervision give up.
	Failures int
}

// DefaultRestart gives a runner five attempts within about eight seconds.
var DefaultRestart = Restart{First: 500 * time.Millisecond, Most: 10 * time.Second, Healthy: 30 * time.Second, Failures: 5}

// jitter is the part by which a wait varies, so that runners that fail together don't start
// together again.
const jitter = 0.2

func (r Restart) defaults() Restart {
	if r.First <= 0 {
		r.First = DefaultRestart.First
	}
	if r.Most <= 0 {
		r.Most = DefaultRestart.Most
	}
	if r.Healthy <= 0 {
		r.Healthy = DefaultRestart.Healthy
	}
	if r.Failures <= 0 {
		r.Failures = DefaultRestart.Failures
	}
	return r
}

// wait returns how long to wait after so many failures in a row; random is in [0, 1).
func (r Restart) wait(failures int, random float64) time.Duration {
	d := r.First
	for ; failures > 1 && d < r.Most; failures-- {
		d *= 2
	}
	d = min(d, r.Most)
	return d + time.Duration(float64(d)*jitter*(2*random-1))
}
