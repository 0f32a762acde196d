package app

import (
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
)

// checkGroup logs which control group the member has for itself, and what lives on in those of dead members. It returns an
// error if proofs need a group and there is none. Without a parent the line is nil.
func checkGroup(line *parent.Line, proofs []record.Proof, log *zap.Logger) error {
	if line != nil {
		for _, what := range line.LivesOn {
			log.Warn("something of a member that died here lives on, so nothing proves that death: others wait until its session has lapsed", zap.String("what", what))
		}
		if line.Cgroup != "" {
			log.Info("this member has a control group of its own", zap.String("cgroup", line.Cgroup))
			return nil
		}
	}
	switch why := deadman.Trees().Why; {
	case why != "" && slices.Contains(proofs, record.ProofCgroup):
		return fmt.Errorf("member.proofs: cgroup: %s (mend that, or leave cgroup out)", why)
	case why != "":
		log.Warn("this member has no control group of its own", zap.String("why", why))
	case slices.Contains(proofs, record.ProofCgroup):
		return errors.New("member.proofs: cgroup needs a control group of the member's own (systemd gives one with Delegate=yes; --cgroup=always makes one elsewhere; not with --guard=false)")
	}
	return nil
}
