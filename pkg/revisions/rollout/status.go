package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Phase is where a rollout stands.
type Phase string

const (
	// Pending: no controller has begun it yet. It is never stored.
	Pending Phase = "Pending"
	// Progressing: elections come into reach, and the controller waits for them to move.
	Progressing Phase = "Progressing"
	// Paused: at a pause, or by an operator's command.
	Paused Phase = "Paused"
	// Analysing: the controller watches checks for a while.
	Analysing Phase = "Analysing"
	// Degraded: failures paused it. `retry` goes on in spite of them, `abort` takes
	// everything back.
	Degraded Phase = "Degraded"
	// RolledBack: failures took everything back. The canary is blocked until `retry`.
	RolledBack Phase = "RolledBack"
	// Aborted: an operator took everything back. The canary is blocked until `retry`.
	Aborted Phase = "Aborted"
	// Promoted: every election is the canary's. The rollout stays in force until the default
	// source names the canary.
	Promoted Phase = "Promoted"
	// Complete: the default source names the canary; the rollout is no longer in force.
	Complete Phase = "Complete"
)

var phases = []Phase{Progressing, Paused, Analysing, Degraded, RolledBack, Aborted, Promoted, Complete}

// Blocks says whether no member of the canary may lead until an operator retries the rollout.
func (p Phase) Blocks() bool { return p == RolledBack || p == Aborted }

// Status says how far a rollout is. Its controller writes it.
type Status struct {
	// UID, Stable and Canary name the rollout that the status belongs to.
	UID    string `yaml:"uid" strict:"required"`
	Stable string `yaml:"stable" strict:"required"`
	Canary string `yaml:"canary" strict:"required"`
	// Token is the term's token of the controller that wrote it. A controller with a lower token
	// writes nothing.
	Token uint64 `yaml:"token,omitempty"`
	// Generation is that of the spec that the controller last looked at.
	Generation int `yaml:"generation"`
	// Retry is the spec's in this attempt, Forgive the last one that the controller obeyed.
	Retry   int   `yaml:"retry,omitempty"`
	Forgive int   `yaml:"forgive,omitempty"`
	Phase   Phase `yaml:"phase" strict:"required"`
	// Step is the present step, the first being 1.
	Step int `yaml:"step" strict:"required"`
	// Began is when this attempt's first step began.
	Began       Time  `yaml:"began" strict:"required"`
	StepStarted Time  `yaml:"stepStarted" strict:"required"`
	Reach       Reach `yaml:"reach,omitempty"`
	// Elections counts those of the group, Moved those in reach that the canary leads.
	Elections int `yaml:"elections"`
	Moved     int `yaml:"moved"`
	// Moving are in reach and have a ready member of the canary, but the canary does not lead yet.
	Moving []Moving `yaml:"moving,omitempty"`
	// Failures are what checks found since Began, oldest first.
	Failures []Failure `yaml:"failures,omitempty"`
	// Absent lists elections that should be the canary's by now but have no ready member of it.
	Absent []string `yaml:"absent,omitempty"`
	// Message says in one line what the rollout waits for, or what happened.
	Message string `yaml:"message,omitempty"`
	// Checksum covers all else, so that an edit by hand shows. See Sum.
	Checksum string `yaml:"checksum" strict:"required"`
}

// Moving is an election on its way to the canary.
type Moving struct {
	Election string `yaml:"election" strict:"required"`
	// Since is when the wait for it begins: it is in reach, has a ready member of the canary, and
	// its holder's minHold and preemptDelay are over. It may lie in the future.
	Since Time `yaml:"since" strict:"required"`
}

// Failure is something that a check found. There is one for each check, election and member.
type Failure struct {
	Check    string `yaml:"check" strict:"required"`
	Election string `yaml:"election,omitempty"`
	// Member is the identity of the member concerned; empty if there is none.
	Member string `yaml:"member,omitempty"`
	What   string `yaml:"what" strict:"required"`
	At     Time   `yaml:"at" strict:"required"`
	// Forgiven failures no longer count: an operator went on in spite of them.
	Forgiven bool `yaml:"forgiven,omitempty"`
}

// same says whether both are about the same check, election and member.
func (f Failure) same(o Failure) bool {
	return f.Check == o.Check && f.Election == o.Election && f.Member == o.Member
}

// Of says whether the status belongs to this attempt of this rollout. Any other is ignored.
func (s *Status) Of(spec *Spec) bool {
	return s != nil && spec != nil && s.UID == spec.UID && s.Retry == spec.Retry &&
		s.Stable == spec.Stable && s.Canary == spec.Canary
}

// Waits says whether the controller still waits for an election on its way.
func (s *Status) Waits(spec Spec, now time.Time) bool {
	return slices.ContainsFunc(s.Moving, func(m Moving) bool { return !m.late(spec, At(now)) })
}

// late says whether the controller no longer waits for it.
func (m Moving) late(spec Spec, now Time) bool { return !now.Before(m.Since.Add(spec.AcquireTimeout)) }

// Sum computes the checksum of the content. An empty list counts as nil: both are stored alike.
func (s Status) Sum() string {
	s = s.clone()
	s.Checksum = ""
	text, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("rollout: encode a status: %v", err)) // it is plain data
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func (s Status) clone() Status {
	s.Reach.Names = copied(s.Reach.Names)
	s.Reach.Except = copied(s.Reach.Except)
	s.Moving = copied(s.Moving)
	s.Failures = copied(s.Failures)
	s.Absent = copied(s.Absent)
	return s
}

// copied returns a copy of the list, nil if it is empty.
func copied[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return slices.Clone(list)
}
