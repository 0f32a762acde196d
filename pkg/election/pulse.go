package election

import (
	"time"

	"go.uber.org/atomic"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// pulse shows what the host does, and what it has seen, to any goroutine. It needs no lock and no help of
// the host, which may be stuck. The host writes it.
type pulse struct {
	// busySince is when the turn that is on began; zero while the host waits for the next one.
	busySince atomic.Int64
	// nextBy is when the next turn is due; zero for never.
	nextBy atomic.Int64
	// listed: this incarnation has seen all that the realm's own store holds.
	listed atomic.Bool
	// preferred: the source of the preferred revision has answered.
	preferred atomic.Bool
	// beat is when we sent the last beat of this incarnation's session that came back; zero before the first.
	beat atomic.Int64
	// identity is this incarnation's, and givenUp is why it ends; empty while it does not.
	identity, givenUp atomic.String
}

// join begins an incarnation.
func (p *pulse) join(identity string) {
	p.listed.Store(false)
	p.beat.Store(0)
	p.givenUp.Store("")
	p.identity.Store(identity)
}

// turn notes that a turn begins.
func (p *pulse) turn(now record.Instant) { p.busySince.Store(int64(now)) }

// rest notes that the turn is over, and when the next one is due; zero for never.
func (p *pulse) rest(next record.Instant) {
	p.nextBy.Store(int64(next))
	p.busySince.Store(0)
}

// late is for how long a turn has been on, or overdue.
func (p *pulse) late(now record.Instant) time.Duration {
	at := p.busySince.Load()
	if at == 0 {
		at = p.nextBy.Load()
	}
	if at == 0 {
		return 0
	}
	return max(0, now.Sub(record.Instant(at)))
}
