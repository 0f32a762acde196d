package exec

import (
	"strconv"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// extend writes every later deadline into the extensions' pipe, a line each, until the
// group is dead. While the pipe is full it waits, and then goes on with the latest: what
// came between is left out. Whoever extends the term waits for nothing.
//
// A line is shorter than PIPE_BUF, so it is written whole or not at all.
func (p *process) extend(term election.Term, told record.Instant) {
	for {
		deadline, extended := term.Deadline()
		if deadline > told {
			told = deadline
			line := strconv.AppendInt(nil, int64(deadline), 10)
			if _, err := p.extensions.Write(append(line, '\n')); err != nil {
				return // it closed its end, or is dead
			}
			continue
		}
		select {
		case <-extended:
		case <-p.dead:
			return
		}
	}
}
