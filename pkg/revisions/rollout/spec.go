package rollout

import (
	"time"
)

// Spec is a rollout as operators write it.
type Spec struct {
	// UID is 16 hexadecimal digits, random at the start.
	UID string `yaml:"uid" strict:"required"`
	// Generation counts the writes of the spec.
	Generation int    `yaml:"generation" strict:"required"`
	Stable     string `yaml:"stable" strict:"required"`
	Canary     string `yaml:"canary" strict:"required"`
	StartedAt  Time   `yaml:"startedAt" strict:"required"`
	// By is who started it, for people.
	By string `yaml:"by,omitempty"`

	Steps []Step `yaml:"steps" strict:"required"`

	// OnFailure is what happens when more failures were found than FailureLimit.
	OnFailure OnFailure `yaml:"onFailure"`
	// AcquireTimeout is how long an election is waited for that is in reach and has a ready
	// member of the canary.
	AcquireTimeout time.Duration `yaml:"acquireTimeout" strict:"required"`
	// MaxConcurrentMoves bounds how many elections are on the move at a time.
	MaxConcurrentMoves int `yaml:"maxConcurrentMoves"`
	// WhenPreferredAbsent is what happens with an election for which no member of the canary
	// is ready.
	WhenPreferredAbsent WhenAbsent `yaml:"whenPreferredAbsent"`
	// FailureLimit is how many failures are tolerated.
	FailureLimit int `yaml:"failureLimit"`
	// Checks are the names of the checks that are made; nil means all, and the name "none"
	// by itself means none.
	Checks []string `yaml:"checks,omitempty"`

	// Abort takes every election back to stable. Members obey it by themselves.
	Abort bool `yaml:"abort,omitempty"`
	// Paused holds the rollout where it is.
	Paused bool `yaml:"paused,omitempty"`
	// Promote is the operator's word to go on without waiting; nil for none.
	Promote *Promote `yaml:"promote,omitempty"`
	// Retry is raised to begin anew after an abort or a rollback. A status of an earlier
	// attempt counts for nothing.
	Retry int `yaml:"retry,omitempty"`
	// Forgive is raised to go on after failures that paused the rollout, in spite of them.
	Forgive int `yaml:"forgive,omitempty"`
}

// Defaults of a Spec.
const (
	DefaultMaxConcurrentMoves = 10
	// LeaseDurationsToAcquire times the lease duration is the AcquireTimeout that a start
	// without one of its own is given.
	LeaseDurationsToAcquire = 4
)

// WithDefaults fills in what was left out. AcquireTimeout has no default here.
func (s Spec) WithDefaults() Spec {
	if s.OnFailure == "" {
		s.OnFailure = Rollback
	}
	if s.MaxConcurrentMoves == 0 {
		s.MaxConcurrentMoves = DefaultMaxConcurrentMoves
	}
	if s.WhenPreferredAbsent == "" {
		s.WhenPreferredAbsent = Stay
	}
	return s
}

// Promote is exactly one of its fields.
type Promote struct {
	// Step passes the steps up to this one, the first being 1, without waiting any longer.
	Step int `yaml:"step,omitempty"`
	// Full passes all steps but the last.
	Full bool `yaml:"full,omitempty"`
}

// Step is one step of a rollout: exactly one of its fields.
type Step struct {
	// Elections come into reach by name.
	Elections []string `yaml:"elections,omitempty"`
	// SetWeight brings that many per cent of the elections into reach.
	SetWeight int `yaml:"setWeight,omitempty"`
	// Pause waits.
	Pause *Pause `yaml:"pause,omitempty"`
	// Analysis watches for a while whether checks fail.
	Analysis *Analysis `yaml:"analysis,omitempty"`
}

// Pause waits for the duration; zero waits for an operator's word.
type Pause struct {
	Duration time.Duration `yaml:"duration,omitempty"`
}

// Analysis lasts for a duration.
type Analysis struct {
	For time.Duration `yaml:"for" strict:"required"`
}

// StepKind says which field of a Step is set.
type StepKind int

const (
	StepElections StepKind = iota + 1
	StepSetWeight
	StepPause
	StepAnalysis
)

// Kind is that of a valid step; zero for one that is none.
func (s Step) Kind() StepKind {
	kinds := s.kinds()
	if len(kinds) != 1 {
		return 0
	}
	return kinds[0]
}

func (s Step) kinds() (kinds []StepKind) {
	if s.Elections != nil {
		kinds = append(kinds, StepElections)
	}
	if s.SetWeight != 0 {
		kinds = append(kinds, StepSetWeight)
	}
	if s.Pause != nil {
		kinds = append(kinds, StepPause)
	}
	if s.Analysis != nil {
		kinds = append(kinds, StepAnalysis)
	}
	return kinds
}

// OnFailure is what follows failures.
type OnFailure string

const (
	// Rollback takes all elections back to stable, at once.
	Rollback OnFailure = "Rollback"
	// HoldOn leaves everything where it is and waits for an operator.
	HoldOn OnFailure = "Pause"
)

// WhenAbsent is what follows when no member of the canary is ready for an election.
type WhenAbsent string

const (
	// Stay leaves the election where it is and goes on without it; it moves once a member of
	// the canary is ready.
	Stay WhenAbsent = "Stay"
	// Wait lets the step wait for it.
	Wait WhenAbsent = "Wait"
	// RollbackWhenAbsent takes all elections back to stable.
	RollbackWhenAbsent WhenAbsent = "Rollback"
)
