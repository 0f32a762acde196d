package revisions

import (
	"sync"
	"time"
)

// Freshness is how old the last value of a source is.
type Freshness struct {
	// Known says whether the source has had a usable value at all.
	Known bool
	// Kept is why the last value is kept although the source may say something else by now;
	// empty while we follow the source.
	Kept Reason
	// Age is how long the last value has been kept, or, before the first value, how long there
	// has been none; zero while we follow the source.
	Age time.Duration
}

// Dated is a second, optional interface of a source: it says how old its last value is. Any
// goroutine may call it.
type Dated interface{ Freshness() Freshness }

// Reason is why the last value of a source is kept.
type Reason string

const (
	// NotReadable: the source cannot be read.
	NotReadable Reason = "cannot be read"
	// ContentRefused: the source can be read, but what it says cannot be used.
	ContentRefused Reason = "what it says cannot be used"
)

// Gauge records how fresh the value of a source is. The zero Gauge belongs to a source that has
// said nothing and is not watched. Any goroutine may call its methods; a nil Gauge records
// nothing.
type Gauge struct {
	mu                  sync.Mutex
	known               bool
	unreadable, refused time.Time // since when; zero while all is well
}

// Says: the source said something that can be used.
func (g *Gauge) Says() {
	g.change(func(time.Time) { g.known, g.refused = true, time.Time{} })
}

// Followed: the source can be read.
func (g *Gauge) Followed() {
	g.change(func(time.Time) { g.unreadable = time.Time{} })
}

// Kept: the last value is kept from now on, if it is not already.
func (g *Gauge) Kept(why Reason) {
	g.change(func(now time.Time) {
		since := &g.unreadable
		if why == ContentRefused {
			since = &g.refused
		}
		if since.IsZero() {
			*since = now
		}
	})
}

func (g *Gauge) change(f func(now time.Time)) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	f(time.Now())
}

// Freshness implements Dated.
func (g *Gauge) Freshness() (f Freshness) {
	g.change(func(now time.Time) {
		f.Known = g.known
		since := g.unreadable
		switch {
		case !g.unreadable.IsZero():
			f.Kept = NotReadable
		case !g.refused.IsZero():
			f.Kept = ContentRefused
		default:
			return
		}
		if !g.refused.IsZero() && (since.IsZero() || g.refused.Before(since)) {
			since = g.refused
		}
		f.Age = now.Sub(since)
	})
	return f
}
