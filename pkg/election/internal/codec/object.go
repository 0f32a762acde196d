package codec

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// ownAnnotations are those that a Record has fields for, the most telling ones first.
var ownAnnotations = []string{
	HolderAnnotation, MemberAnnotation, BeatAnnotation, TokenAnnotation, ClaimAnnotation, HandoverAnnotation, HistoryAnnotation,
}

// Annotations of ours.
const (
	TokenAnnotation    = prefix + "token"
	HolderAnnotation   = prefix + "holder"
	HandoverAnnotation = prefix + "handover-to"
	ClaimAnnotation    = prefix + "claim"
	HistoryAnnotation  = prefix + "history"
	MemberAnnotation   = prefix + "member"
	BeatAnnotation     = prefix + "beat"
)

const prefix = "primacy.dev/"

// ownAnnotation says whether a Record has a field for the annotation.
func ownAnnotation(key string) bool { return slices.Contains(ownAnnotations, key) }

// ownLabel says whether a Record has a field for the label.
func ownLabel(key, value string) bool {
	switch key {
	case lock.ElectionLabel, lock.GroupLabel:
		return true
	case lock.ManagedByLabel:
		return value == lock.ManagedBy
	}
	return false
}

// Object is what a Kubernetes object says, in plain data, without what its kind adds.
type Object struct {
	Fields              Fields
	Annotations, Labels map[string]string
	// Extra is what else a store wants preserved from reading to writing. It must not
	// change any more. Nil when there is nothing.
	Extra any
}

// Fields are the fields that every elector on Kubernetes knows.
type Fields struct {
	Holder string
	// DurationSeconds is 0 where the object states none.
	DurationSeconds int64
	// Acquired and Renewed are zero where the object states none.
	Acquired, Renewed time.Time
	Transitions       int64
	// HolderKey is empty where the object states none, or has no room for one.
	HolderKey string
	// Problem says, in one short line, why the fields could not be read; a store that
	// keeps them in text of its own may find them broken.
	Problem string
}
