package codec

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Limits of what we write. Encode refuses a record beyond one of them.
const (
	// MaxIdentity is how many bytes an identity of ours may have: a host name twice over.
	MaxIdentity = 2 * 253
	// MinDuration and MaxDuration bound every duration; all are whole seconds.
	MinDuration = time.Second
	MaxDuration = 366 * 24 * time.Hour
	// MaxLabel is how many characters a label's value may have.
	MaxLabel = 63
	// MaxWhy is how many bytes of a reason the history keeps; the rest is cut.
	MaxWhy = 200
	// MaxAnnotation is how many bytes one annotation of ours may have.
	MaxAnnotation = 128 << 10
	// MaxAnnotations is how many bytes all annotations of an object may have, keys
	// included, ours and others' together (the API server's limit).
	MaxAnnotations = 256 << 10
)

// Limits of what we read. Decode refuses counters long before they overflow: otherwise a stranger
// could set one so high that we have no next number.
const (
	// maxForeignIdentity is more than MaxIdentity: a living foreign elector must not look unreadable.
	maxForeignIdentity = 4096
	maxTransitions     = record.MaxTransitions
	maxCount           = record.MaxToken
	maxWeight          = 1 << 30
	maxDrift           = 500_000 // millionths
	longestLease       = int(record.MaxLeaseDuration / time.Second)
	// longestWork is for how long a member may be at work whose session another member ended: two leases, with any drift.
	longestWork = 3 * longestLease
)

// Years of plausible times. No decision depends on a time, but a year outside these shows that no elector
// wrote the time.
const (
	firstYear = 1970
	lastYear  = 9998
)

func checkSeconds(n int64) error {
	if n < int64(MinDuration/time.Second) || n > int64(MaxDuration/time.Second) {
		return fmt.Errorf("%d s is not from %v to %v", n, MinDuration, MaxDuration)
	}
	return nil
}

func checkDuration(d time.Duration) error {
	if d%time.Second != 0 {
		return fmt.Errorf("%v is not a whole number of seconds, and objects store whole seconds", d)
	}
	return checkSeconds(int64(d / time.Second))
}

// checkLease is checkDuration for records of ours, with the lower limit of our leases.
func checkLease(d time.Duration) error {
	if d > record.MaxLeaseDuration {
		return fmt.Errorf("%v is more than %v", d, record.MaxLeaseDuration)
	}
	return checkDuration(d)
}

func checkTime(t time.Time) error {
	if y := t.UTC().Year(); y < firstYear || y > lastYear {
		return fmt.Errorf("year %d is not from %d to %d", y, firstYear, lastYear)
	}
	return nil
}

func checkText(s string, most int) error {
	if len(s) > most {
		return fmt.Errorf("%d bytes are more than %d", len(s), most)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s is not valid UTF-8", quote(s))
	}
	return nil
}

func checkCount[N ~int | ~int64](n, most N) error {
	if n < 0 || n > most {
		return fmt.Errorf("%d is not from 0 to %d", n, most)
	}
	return nil
}

func checkRenewal(r record.Renewal) error {
	switch r {
	case "", record.RenewalRecord, record.RenewalSession:
		return nil
	}
	return fmt.Errorf("unknown renewal %s", quote(string(r)))
}

func checkLocation(l record.Location) error {
	switch l {
	case "", record.Local, record.Remote:
		return nil
	}
	return fmt.Errorf("unknown location %s", quote(string(l)))
}

// checkLabel checks Kubernetes' rule for the value of a label.
func checkLabel(s string) error {
	if len(s) > MaxLabel {
		return fmt.Errorf("%s has %d characters, and a label's value may have %d", quote(s), len(s), MaxLabel)
	}
	for i := range len(s) {
		inner := i > 0 && i < len(s)-1
		if !alphanumeric(s[i]) && !(inner && strings.IndexByte("-_.", s[i]) >= 0) {
			return fmt.Errorf("%s is not a valid label value: it needs letters and digits, with '-', '_' and '.' only between them", quote(s))
		}
	}
	return nil
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// CheckName checks Kubernetes' rule for the name of an object: a DNS-1123 subdomain.
func CheckName(name string) error {
	if name == "" || len(name) > 253 {
		return fmt.Errorf("name of %d characters is not from 1 to 253", len(name))
	}
	for label := range strings.SplitSeq(name, ".") {
		for i := range len(label) {
			c := label[i]
			lower := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
			if !lower && !(c == '-' && i > 0 && i < len(label)-1) {
				return fmt.Errorf("name %s is no DNS-1123 subdomain", quote(name))
			}
		}
		if label == "" {
			return fmt.Errorf("name %s is no DNS-1123 subdomain", quote(name))
		}
	}
	return nil
}

// quote escapes and shortens text that a stranger may have written.
func quote(s string) string {
	const most = 20
	if len(s) > most {
		return fmt.Sprintf("%+q...", s[:most])
	}
	return fmt.Sprintf("%+q", s)
}

// checkInterval checks the renewInterval that a session states.
func checkInterval(d time.Duration) error {
	if d < 0 || d > record.MaxLeaseDuration || d%time.Millisecond != 0 {
		return fmt.Errorf("%v is not whole milliseconds from 0 to %v", d, record.MaxLeaseDuration)
	}
	return nil
}
