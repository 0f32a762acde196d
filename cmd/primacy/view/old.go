package view

import (
	"fmt"
	"time"
)

// Old says since when a picture is old. The text stays the same while the age grows.
func Old(asOf time.Time) string {
	return "the API server cannot be reached; what is shown is as of " + asOf.Local().Format(time.TimeOnly)
}

// OldBy is Old with the age, for pages that are drawn again; none if the picture is not old.
func OldBy(asOf, now time.Time) []string {
	if asOf.IsZero() {
		return nil
	}
	return []string{Bad.Of(fmt.Sprintf("%s, %v ago", Old(asOf), now.Sub(asOf).Round(time.Second)))}
}

// TurnedOld says that a picture has become old, or that it is so no more; empty if neither. before and after are
// zero for a picture that is not old.
func TurnedOld(before, after, now time.Time) string {
	switch {
	case before.IsZero() == after.IsZero():
		return ""
	case after.IsZero():
		return fmt.Sprintf("the API server answers again, after %v", now.Sub(before).Round(time.Second))
	}
	return Old(after)
}
