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
	// Pending: no controller has taken it up yet. It is never stored.
	Pending Phase = "Pending"
	// Progressing: elections come into reach, and are waited for.
	Progressing Phase = "Progressing"
	// Paused: at a pause, or by an operator's word.
	Paused Phase = "Paused"
	// Analysing: checks are watched for a while.
	Analysing Phase = "Analysing"
	// Degraded: failures paused it. `retry` goes on in spite of them, `abort` takes
	// everything back.
	Degraded Phase = "Degraded"
	// RolledBack: failures took everything back. The canary is blocked until `retry`.
	RolledBack Phase = "RolledBack"
	// Aborted: an operator took everything back. The canary is blocked until `retry`.
	Aborted Phase = "Aborted"
	// Promoted: all is the canary's. It stays in force until the default source names the
	// canary.
	Promoted Phase = "Promoted"
	// Complete: the default source names the canary; the rollout is no longer in force.
	Complete Phase = "Complete"
)

var phases = []Phase{Progressing, Paused, Analysing, Degraded, RolledBack, Aborted, Promoted, Complete}

// Blocks says whether the canary is kept out until somebody tries it again.
func (p Phase) Blocks() bool { return p == RolledBack || p == Aborted }

// Status is how far a rollout is, as its controller writes it.
type Status struct {
	// UID, Stable and Canary say of which rollout this is the status.
	UID    string `yaml:"uid" strict:"required"`
	Stable string `yaml:"stable" strict:"required"`
	Canary string `yaml:"canary" strict:"required"`
	// Token is that of the term of the controller that wrote it. One whose own is lower writes
	// nothing.
	Token uint64 `yaml:"token,omitempty"`
	// Generation is that of the spec which was last looked at.
	Generation int `yaml:"generation"`
	// Retry is that of the spec whose attempt this is, and Forgive the one last obeyed.
	Retry   int   `yaml:"retry,omitempty"`
	Forgive int   `yaml:"forgive,omitempty"`
	Phase   Phase `yaml:"phase" strict:"required"`
	// Step is the present step, the first being 1.
	Step int `yaml:"step" strict:"required"`
	// Began is when the first step began, the last time that it did.
	Began       Time  `yaml:"began" strict:"required"`
	StepStarted Time  `yaml:"stepStarted" strict:"required"`
	Reach       Reach `yaml:"reach,omitempty"`
	// Elections counts those of the group, Moved those that the canary leads by the rollout.
	Elections int `yaml:"elections"`
	Moved     int `yaml:"moved"`
	// Moving are in reach, have a ready member of the canary, and are led by another.
	Moving []Moving `yaml:"moving,omitempty"`
	// Failures are what checks found since Began, oldest first.
	Failures []Failure `yaml:"failures,omitempty"`
	// Absent are elections that should be the canary's by now and have no member of it that
	// is ready.
	Absent []string `yaml:"absent,omitempty"`
	// Message says in one line what is waited for, or what happened.
	Message string `yaml:"message,omitempty"`
	// Checksum is over all else; an edit by hand is seen by it. See Sum.
	Checksum string `yaml:"checksum" strict:"required"`
}

// Moving is an election on its way to the canary.
type Moving struct {
	Election string `yaml:"election" strict:"required"`
	// Since is when it came into reach, or had a ready member of the canary again, and may have
	// moved: not before its holder's minHold and preemptDelay are over.
	Since Time `yaml:"since" strict:"required"`
}

// Failure is something that a check found. There is one for each check, election and member.
type Failure struct {
	Check    string `yaml:"check" strict:"required"`
	Election string `yaml:"election,omitempty"`
	// Member is the identity of the member that it is about; empty if it is about none.
	Member string `yaml:"member,omitempty"`
	What   string `yaml:"what" strict:"required"`
	At     Time   `yaml:"at" strict:"required"`
	// Forgiven does not count any more: an operator went on in spite of it.
	Forgiven bool `yaml:"forgiven,omitempty"`
}

// same says whether both are about the same.
func (f Failure) same(o Failure) bool {
	return f.Check == o.Check && f.Election == o.Election && f.Member == o.Member
}

// Of says whether the status is of this attempt of this rollout. One that is not counts for
// nothing.
func (s *Status) Of(spec *Spec) bool {
	return s != nil && spec != nil && s.UID == spec.UID && s.Retry == spec.Retry &&
		s.Stable == spec.Stable && s.Canary == spec.Canary
}

// Waits says whether an election on its way is still waited for.
func (s *Status) Waits(spec Spec, now time.Time) bool {
	return slices.ContainsFunc(s.Moving, func(m Moving) bool { return !m.late(spec, At(now)) })
}

// late says whether it is waited for no longer.
func (m Moving) late(spec Spec, now Time) bool { return !now.Before(m.Since.Add(spec.AcquireTimeout)) }

// Sum is the checksum that belongs to the content. A list without entries is no list: what
// is written of either reads the same.
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

// copied is a copy of the list, nil if it has no entries.
func copied[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return slices.Clone(list)
}
