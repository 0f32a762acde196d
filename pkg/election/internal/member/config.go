package member

import (
	"math/rand/v2"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Config is what does not change about a Member.
type Config struct {
	// Group names the members that share elections and a directory.
	Group string
	// Host is the Pod's or host's name, of which its session is made.
	Host            string
	Identity        string
	Revision        string
	Location        record.Location
	Weight          int
	Version         string // of the program, which the others are told
	Timing          record.Timing
	WritesPerSecond float64
	Chance          rand.Source // all that is left to chance; this Member's own
	Heritage        Heritage
}

// Heritage is what one incarnation leaves to the next.
type Heritage struct {
	// Pause is how long the next one is to wait until it begins: sessions that are lost as soon
	// as they are made must not be made in a loop.
	Pause time.Duration
	// short counts the incarnations in a row that lived for less than a lease.
	short int
	// notBefore is the earliest instant at which the next one takes anything.
	notBefore record.Instant
	// saw is whether its beats came back in time: a member that saw too late still does.
	saw sight
	// hushed is whether the log says that the watch is silent.
	hushed bool
}

// WriteTimeout is how long one request may take before its outcome counts as unknown.
func WriteTimeout(t record.Timing) time.Duration {
	return min(max(t.RenewInterval, time.Second), 5*time.Second)
}

// WritesPerSecond is the limit where nothing is said.
const WritesPerSecond = 2000
