//go:build darwin || windows

package clock

// newBoottimeAlarm makes the alarm of Boottime; it never fails.
func newBoottimeAlarm() (Alarm, error) { return newLookingAlarm(Boottime()), nil }
