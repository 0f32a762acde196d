package scenario

import (
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// process is one member's process, one incarnation after the other.
type process struct {
	w    *world
	spec Member
	// offset is what its clock shows at the beginning.
	offset int64
	dead   bool
	// preferred is what it sees of the preference.
	preferred record.Preferred
	inc       *incarnation
	notBefore record.Instant
	// short counts incarnations in a row that lived for less than a lease.
	short int
}

// begin starts the process.
func (p *process) begin() {
	p.preferred = record.Preferred{State: record.PreferredNotSynced}
	p.join()
	p.w.after(writeLatency+showLatency, p.seePreference)
}

func (p *process) now() record.Instant { return record.Instant(p.offset + p.w.now) }

// when is the time at which the process's clock shows i.
func (p *process) when(i record.Instant) int64 { return int64(i) - p.offset }

// seePreference takes in what the source says, or will say once it can be reached.
func (p *process) seePreference() {
	if p.w.away(p.w.now) {
		p.w.at(p.w.awayUntil+int64(showLatency), p.seePreference)
		return
	}
	p.preferred = p.w.preferred
	if i := p.inc; i != nil {
		i.do(func() { i.prefer(p.preferred) })
	}
}

// cut breaks the member's stream, because the API is away.
func (p *process) cut() {
	if i := p.inc; i != nil {
		i.do(i.stream.cut)
	}
}

// kill ends the process, with all its work.
func (p *process) kill() {
	p.dead = true
	if p.inc == nil {
		return
	}
	p.inc.each(func(c *contest) {
		if c.work != nil {
			c.work.off("killed")
		}
	})
	p.inc = nil
}

// rejoin begins the next incarnation, unless the last ones came to nothing: then later.
func (p *process) rejoin() {
	old := p.inc
	p.inc, p.notBefore = nil, old.notBefore
	p.w.note("%s comes back under a new identity", p.spec.Name)
	if p.now() >= old.born.Add(p.w.s.Timing.LeaseDuration) {
		p.short = 0
		p.join()
		return
	}
	wait := record.Doubled(p.w.s.Timing.RenewInterval, p.short)
	p.short++
	p.w.after(wait, func() {
		if !p.dead {
			p.join()
		}
	})
}
