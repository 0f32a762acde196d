package codec

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// ownAnnotations are the annotations that a Record has fields for. Difference reports the first that differs,
// so the most telling ones come first.
var ownAnnotations = []string{
	HolderAnnotation, MemberAnnotation, BeatAnnotation, TokenAnnotation, ClaimAnnotation, HandoverAnnotation, HistoryAnnotation,
}

// Our annotations.
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

// Object is the content of a Kubernetes object as plain data, independent of its kind.
type Object struct {
	Fields              Fields
	Annotations, Labels map[string]string
	// Extra is what else a store wants to preserve from reading to writing; nil for nothing. Nobody
	// may change it.
	Extra any
}

// Fields are the fields that every elector on Kubernetes knows.
type Fields struct {
	Holder string
	// DurationSeconds is 0 if the object has none.
	DurationSeconds int64
	// Acquired and Renewed are zero if the object has none.
	Acquired, Renewed time.Time
	Transitions       int64
	// HolderKey is empty if the object has none, or no field for one.
	HolderKey string
	// Problem says, in one short line, why a store could not read the fields; empty if it could. A store may
	// keep the fields in a text of its own, which somebody may break.
	Problem string
}
