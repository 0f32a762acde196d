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

	// OnFailure says what happens on more than FailureLimit failures.
	OnFailure OnFailure `yaml:"onFailure"`
	// AcquireTimeout is how long the controller waits until the canary leads an election that is
	// in reach and has a ready member of the canary.
	AcquireTimeout time.Duration `yaml:"acquireTimeout" strict:"required"`
	// MaxConcurrentMoves bounds how many elections move at a time.
	MaxConcurrentMoves int `yaml:"maxConcurrentMoves"`
	// WhenPreferredAbsent says what happens to an election for which no member of the canary is
	// ready.
	WhenPreferredAbsent WhenAbsent `yaml:"whenPreferredAbsent"`
	// FailureLimit is how many failures are tolerated.
	FailureLimit int `yaml:"failureLimit"`
	// Checks names the checks to make; nil means all, and the name "none" by itself means none.
	Checks []string `yaml:"checks,omitempty"`

	// Abort takes every election back to stable. Members obey it by themselves.
	Abort bool `yaml:"abort,omitempty"`
	// Paused holds the rollout where it is.
	Paused bool `yaml:"paused,omitempty"`
	// Promote is the operator's command to go on without waiting; nil for none.
	Promote *Promote `yaml:"promote,omitempty"`
	// Retry counts the new attempts after an abort or a rollback. Everybody ignores a status of an
	// earlier attempt.
	Retry int `yaml:"retry,omitempty"`
	// Forgive counts how often an operator went on in spite of failures that paused the rollout.
	Forgive int `yaml:"forgive,omitempty"`
}

// Defaults of a Spec.
const (
	DefaultMaxConcurrentMoves = 10
	// LeaseDurationsToAcquire times the lease duration is the default AcquireTimeout of a start.
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

// Promote has exactly one of its fields set.
type Promote struct {
	// Step ends the wait in the steps up to this one, the first being 1.
	Step int `yaml:"step,omitempty"`
	// Full passes all steps but the last.
	Full bool `yaml:"full,omitempty"`
}

// Step is one step of a rollout: it has exactly one of its fields set.
type Step struct {
	// Elections brings elections into reach by name.
	Elections []string `yaml:"elections,omitempty"`
	// SetWeight brings this percentage of the elections into reach.
	SetWeight int `yaml:"setWeight,omitempty"`
	// Pause waits.
	Pause *Pause `yaml:"pause,omitempty"`
	// Analysis waits for a while, so that checks can find failures.
	Analysis *Analysis `yaml:"analysis,omitempty"`
}

// Pause waits for the duration; zero waits for an operator's command.
type Pause struct {
	Duration time.Duration `yaml:"duration,omitempty"`
}

// Analysis waits for the duration For, while checks go on.
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

// Kind returns the kind of a valid step, and zero for an invalid one.
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

// OnFailure says what happens after too many failures.
type OnFailure string

const (
	// Rollback takes all elections back to stable, at once.
	Rollback OnFailure = "Rollback"
	// HoldOn leaves everything where it is and waits for an operator.
	HoldOn OnFailure = "Pause"
)

// WhenAbsent says what happens to an election for which no member of the canary is ready.
type WhenAbsent string

const (
	// Stay leaves the election where it is and goes on without it; it moves once a member of
	// the canary is ready.
	Stay WhenAbsent = "Stay"
	// Wait makes the step wait for the election.
	Wait WhenAbsent = "Wait"
	// RollbackWhenAbsent takes all elections back to stable.
	RollbackWhenAbsent WhenAbsent = "Rollback"
)
