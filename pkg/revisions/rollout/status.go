package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Phase says how far a rollout is, and whether it goes on.
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
	// Degraded: failures paused it. `retry` goes on in spite of the failures, `abort` takes every
	// election back.
	Degraded Phase = "Degraded"
	// RolledBack: failures took every election back. The canary is blocked until `retry` or `end`.
	RolledBack Phase = "RolledBack"
	// Aborted: an operator took every election back. The canary is blocked until `retry` or `end`.
	Aborted Phase = "Aborted"
	// Promoted: every election is the canary's. The rollout stays in force until the default
	// source names the canary.
	Promoted Phase = "Promoted"
	// Complete: the default source names the canary; the rollout is no longer in force.
	Complete Phase = "Complete"
)

var phases = []Phase{Progressing, Paused, Analysing, Degraded, RolledBack, Aborted, Promoted, Complete}

// Blocks says whether every election prefers stable, and the canary is not to be started again, until an operator retries or
// ends the rollout. A member of the canary still takes a lock that no other member takes.
func (p Phase) Blocks() bool { return p == RolledBack || p == Aborted }

// over says whether a rollout in this phase goes no further without an operator.
func (p Phase) over() bool { return p.Blocks() || p == Complete }

// Status says how far a rollout is. Its controller writes it.
type Status struct {
	// UID, Stable and Canary name the rollout that the status belongs to.
	UID    string `yaml:"uid" strict:"required"`
	Stable string `yaml:"stable" strict:"required"`
	Canary string `yaml:"canary" strict:"required"`
	// Token is the fencing token of the controller that wrote the status, from its term. A controller
	// with a lower token writes nothing.
	Token uint64 `yaml:"token,omitempty"`
	// Generation is the generation of the spec that the controller last looked at.
	Generation int `yaml:"generation"`
	// Retry is the spec's Retry in this attempt. Forgive is the spec's Forgive that the controller
	// last obeyed.
	Retry   int   `yaml:"retry,omitempty"`
	Forgive int   `yaml:"forgive,omitempty"`
	Phase   Phase `yaml:"phase" strict:"required"`
	// Step is the present step, the first being 1.
	Step int `yaml:"step" strict:"required"`
	// Began is when this attempt's first step began.
	Began Time `yaml:"began" strict:"required"`
	// StepStarted is when the present step began. Once the rollout is over, it is when that happened: a new field would
	// keep members of earlier versions from reading the status.
	StepStarted Time  `yaml:"stepStarted" strict:"required"`
	Reach       Reach `yaml:"reach,omitempty"`
	// Elections counts the group's elections. Moved counts the ones in reach that the canary leads.
	Elections int `yaml:"elections"`
	Moved     int `yaml:"moved"`
	// Moving lists elections in reach that have a ready member of the canary but are not led by the
	// canary yet.
	Moving []Moving `yaml:"moving,omitempty"`
	// Failures are what checks found since Began, oldest first.
	Failures []Failure `yaml:"failures,omitempty"`
	// Absent lists elections that the canary should lead by now but that have no ready member of it.
	Absent []string `yaml:"absent,omitempty"`
	// Message says in one line what the rollout waits for, or what happened.
	Message string `yaml:"message,omitempty"`
	// Checksum covers all other fields, so that an edit by hand is noticed. See Sum.
	Checksum string `yaml:"checksum" strict:"required"`
}

// Moving is an election on its way to the canary.
type Moving struct {
	Election string `yaml:"election" strict:"required"`
	// Since is when our wait for the election begins: it is in reach, has a ready member of the
	// canary, and its holder's minHold and preemptDelay are over. Since may lie in the future.
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

// same says whether both failures have the same check, election and member.
func (f Failure) same(o Failure) bool {
	return f.Check == o.Check && f.Election == o.Election && f.Member == o.Member
}

// Of says whether the status belongs to this attempt of this rollout. Everybody ignores any other
// status.
func (s *Status) Of(spec *Spec) bool {
	return s != nil && spec != nil && s.UID == spec.UID && s.Retry == spec.Retry &&
		s.Stable == spec.Stable && s.Canary == spec.Canary
}

// Waits says whether the controller still waits for some election on its way.
func (s *Status) Waits(spec Spec, now time.Time) bool {
	return slices.ContainsFunc(s.Moving, func(m Moving) bool { return !m.late(spec, At(now)) })
}

// late says whether the controller no longer waits for this election.
func (m Moving) late(spec Spec, now Time) bool { return !now.Before(m.Since.Add(spec.AcquireTimeout)) }

// Sum computes the checksum of the content. An empty list counts as nil, since both are stored alike.
func (s Status) Sum() string {
	s = s.clone()
	s.Checksum = ""
	text, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("rollout: encode a status: %v", err)) // plain data always encodes
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
