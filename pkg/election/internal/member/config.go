package member

import (
	"math/rand/v2"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Config is the part of a Member that does not change.
type Config struct {
	// Group names the members that share elections and a directory.
	Group string
	// Host is the Pod's or host's name. The session's name is made of it.
	Host            string
	Identity        string
	Revision        string
	Location        record.Location
	Weight          int
	Version         string // of the program; our session publishes it
	Timing          record.Timing
	WritesPerSecond float64
	Chance          rand.Source // the only source of randomness; this Member's own
	Heritage        Heritage
	// Proofs are the ways to know that this process is dead before its session has lapsed.
	Proofs []record.Proof
	// Container is where this process runs, for a kubelet's word. The session only publishes it.
	Container record.Container
}

// Heritage is what one incarnation leaves to the next.
type Heritage struct {
	// Pause is how long the host waits before the next incarnation: if sessions are lost as soon as we
	// make them, we must not make them in a loop.
	Pause time.Duration
	// short counts the incarnations in a row that lived for less than a leaseDuration.
	short int
	// notBefore is the earliest instant at which the next incarnation may take a lock.
	notBefore record.Instant
	// unshown is what locks do not show: who may be at work under them, and what a stranger may put back.
	unshown map[lockName]unshown
	// newest is the newest revision of each store that we know; nil once a store was set back. bounds are the longest
	// lease that we ever saw published, and the largest drift of the others that we last had to wait for.
	newest map[Store]uint64
	bounds record.Bounds
	// saw says whether our beats came back in time: if not, they won't for the next incarnation either.
	saw sight
	// hushed says whether we logged that the watch is silent.
	hushed bool
}

// WriteTimeout is how long one request may take before its outcome counts as unknown.
func WriteTimeout(t record.Timing) time.Duration {
	return min(max(t.RenewInterval, time.Second), 5*time.Second)
}

// WritesPerSecond is the default of Config.WritesPerSecond.
const WritesPerSecond = 2000
