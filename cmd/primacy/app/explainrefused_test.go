package app

import "github.com/primacy-dev/primacy/pkg/election/lock"

// refusedBy lets nobody have created the lock of an election, which is for members of one revision unless that is empty, and a
// member refuse the configuration that has it.
func (s *situation) refusedBy(session lock.Entry, only string) {
	s.unlocked()
	s.rules.onlyRevision = only
	session.Record.Member.Lags = refusedLag + "primacy.yaml:9:3: elections[1].runners[0].exec.command: no such file"
}
