package election

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Published is what a member's session publishes of its configuration.
type Published struct {
	// Elections is a digest of the names of its elections; disabled ones do not count.
	Elections string
	record.Setup
}

// PublishedBy returns what a member with this configuration and these elections would publish. It starts nothing. The
// error names what is wrong with the configuration or with a Spec.
func PublishedBy(cfg Config, specs []Spec) (Published, error) {
	m, err := NewManager(cfg)
	if err != nil {
		return Published{}, err
	}
	var elections []*member.Election
	for _, s := range specs {
		if err := s.complete(&m.cfg); err != nil {
			return Published{}, err
		}
		if !s.Disabled {
			e := &member.Election{Name: s.Name, Lock: s.Lock, Locks: member.Store{Place: m.placeOf(s.Locks)}, Settings: m.keptLocked(&s).Settings}
			if from := s.MigrateFrom; from != nil {
				e.MigrateFrom = &member.LockRef{Lock: from.Lock, Locks: member.Store{Place: m.placeOf(from.Locks)}}
			}
			elections = append(elections, e)
		}
	}
	config, setup := member.Published(&member.Config{Version: m.cfg.Version, Timing: m.cfg.Timing}, elections)
	return Published{config, setup}, nil
}
