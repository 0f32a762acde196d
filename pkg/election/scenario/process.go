package scenario

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// process is the process of one member, one incarnation after the other.
type process struct {
	w    *world
	spec Member
	// offset is what the process's clock shows at the beginning of the play.
	offset int64
	dead   bool
	// preferred is the preference that the process has seen.
	preferred record.Preferred
	inc       *incarnation
	// left is what the last incarnation left to the next. terms counts the terms of each election, and ranges
	// holds what this process knows of each election's ranges.
	left   member.Heritage
	terms  []int
	ranges []*member.Ranges
}

// begin starts the process.
func (p *process) begin() {
	p.preferred = record.Preferred{State: record.PreferredNotSynced}
	p.terms, p.ranges = make([]int, len(p.w.s.Elections)), make([]*member.Ranges, len(p.w.s.Elections))
	for n, e := range p.w.s.Elections {
		if e.Range {
			p.ranges[n] = &member.Ranges{}
		}
	}
	p.join()
	p.w.after(writeLatency+showLatency, p.seePreference)
}

func (p *process) now() record.Instant { return record.Instant(p.offset + p.w.now) }

// when is the time at which the process's clock shows i.
func (p *process) when(i record.Instant) int64 { return int64(i) - p.offset }

// seePreference tells the member what the source says now, or if the API is away, once it is back.
func (p *process) seePreference() {
	if p.w.away(p.w.now) {
		p.w.at(p.w.awayUntil+int64(showLatency), p.seePreference)
		return
	}
	p.preferred = p.w.preferred
	if i := p.inc; i != nil {
		i.do(member.Prefer{Preference: p.preferred})
	}
}

// cut breaks the member's streams, because the API is away.
func (p *process) cut() {
	if i := p.inc; i != nil {
		i.cut()
	}
}

// kill ends the process, with all its work.
func (p *process) kill() {
	p.dead = true
	if p.inc == nil {
		return
	}
	for _, k := range p.inc.works {
		if k != nil {
			k.off("killed")
		}
	}
	p.inc = nil
}

// rejoin begins the next incarnation, after a pause if the last ones were short.
func (p *process) rejoin() {
	p.left, p.inc = p.inc.member.Heritage(), nil
	p.w.note("%s comes back under a new identity", p.spec.Name)
	p.w.after(p.left.Pause, func() {
		if !p.dead {
			p.join()
		}
	})
}
