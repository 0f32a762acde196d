package election

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// Config is what a Manager needs to know. Group, Member.Revision and Locks are required.
type Config struct {
	// Group names the members that share elections and a directory.
	Group  string
	Member Member
	// Locks is the realm: where sessions are stored, and records unless their Spec says
	// otherwise.
	Locks lock.Store
	// Host is the Pod's or host's name, of which identities and sessions are made; two
	// members at a time must not share one. Default: the host's name.
	Host string
	// Timing is that of the session and of elections that state none. Default: the
	// profile "default", and for single fields what Filled puts in.
	Timing record.Timing
	// Preferences says which revision should lead. Default: none.
	Preferences Preferences
	// WritesPerSecond bounds what is asked of the store, beats and renewals excepted. At most
	// 24 such requests are under way at a time, which is what spares an API server that is
	// slow; this bound is for one that is fast, against a burst without end. Where the store
	// asks to be left alone, it is. Default: 2000.
	WritesPerSecond float64
	// Version is that of the program, which the other members are told. Default: unknown.
	Version string
	// Clock is the time. Default: CLOCK_BOOTTIME.
	Clock clock.Clock
	// Log takes transitions and trouble. Default: nothing is logged.
	Log *zap.Logger
	// Abort must end the process, at once: it is called when work goes on that can no
	// longer be stopped in time, or went on for too long. Default: log, and exit with status 70.
	Abort func(error)
}

// Member is what a member is, beside its identity.
type Member struct {
	Revision string
	// Location defaults to record.Local.
	Location record.Location
	Weight   int
}

// Preference says which revision should lead which election at one moment. It does not
// change, and may be asked from any goroutine. A record.Preferred is the same for all.
type Preference interface {
	// Digest stands for everything from which For follows: two members whose digests are
	// equal prefer the same for every election. It is what a session publishes, so it is
	// short, and shown to people.
	Digest() string
	// For is what is preferred for the election of that name, whether it exists or not.
	For(election string) record.Preferred
}

// Preferences is a source of the preferred revision.
type Preferences interface {
	// Watch delivers what is preferred, at first and whenever it changes, until ctx
	// ends; then it returns nil. It calls deliver from its own goroutine's stack only.
	// A source that fails keeps its last value; until it has one, nothing is delivered
	// and nothing moves.
	Watch(ctx context.Context, deliver func(Preference)) error
}

// Spec is one election. Name is required.
type Spec struct {
	Name string
	// Disabled: the election is not held. Every member leads and works for as long as it runs, whatever
	// others do and whether the store can be reached; no lock is read or written. Its terms have no token.
	Disabled bool
	// Lock is the name of the lock object. Default: Name.
	Lock string
	// Locks is where the lock object is stored, for another kind of lock in the same
	// realm. It must be comparable, and the same for all elections of that kind. Default:
	// the Manager's.
	Locks lock.Store
	// MigrateFrom is the lock that this election had until now, while there may be
	// members that know no other. It is taken first, and the election is led only while
	// both are held. All members that know both must be given both.
	MigrateFrom *LockRef
	// Timing defaults to the Manager's, single fields to what Filled puts in.
	Timing record.Timing
	// Policy defaults to priority.RevisionLocation.
	Policy priority.Policy
	// Bootstrap defaults to BootstrapWait.
	Bootstrap Bootstrap
	// Foreign says which electors that are not ours share the lock. Default: none.
	Foreign Foreigners
	// Range gives each term a range of wall-clock time that it shares with no other; see
	// Status.Range. A lock with ranges is not released before its range is over, so a
	// handover takes up to leaseDuration. All members must say the same.
	Range bool
	// Outage says what becomes of a term whose renewals no longer come through. Default:
	// its work stops. With OutageFailOpen, For defaults to 10 x leaseDuration.
	Outage Outage
	// Renewal is what keeps a term alive: beats of the member's session, whatever the number
	// of elections, or renewals of the record. Default: the session, where that is possible:
	// where the lock is in the Manager's store and shared with nobody, and has its durations.
	// Members of both settings may live side by side.
	Renewal record.Renewal
}

// LockRef names a lock object in a store.
type LockRef struct {
	Lock  string
	Locks lock.Store
}

// abortLogTime is how long the last words of a process that aborts may take.
const abortLogTime = 100 * time.Millisecond

// exitAborted is the exit status of a process that lost control of its work.
const exitAborted = 70

var dns1123 = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

const (
	// maxLabel is how long a value may be that is also written as a label.
	maxLabel = 63
	// maxObject is how long the name of an object may be.
	maxObject = 253
)

func checkName(what, name string, most int) error {
	if len(name) > most || !dns1123.MatchString(name) {
		return fmt.Errorf("%s %q must be 1 to %d characters, lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit", what, name, most)
	}
	return nil
}

func checkTiming(t record.Timing) error {
	var errs []error
	for _, e := range t.Check() {
		errs = append(errs, fmt.Errorf("timing: %w", e))
	}
	return errors.Join(errs...)
}

// complete fills in the defaults and checks the rest.
func (c *Config) complete() error {
	if err := checkName("group", c.Group, maxLabel); err != nil {
		return err
	}
	if c.Member.Revision == "" {
		return errors.New("member has no revision")
	}
	if c.Member.Location == "" {
		c.Member.Location = record.Local
	}
	if _, err := record.ParseLocation(string(c.Member.Location)); err != nil {
		return fmt.Errorf("member: %w", err)
	}
	if c.Locks == nil {
		return errors.New("no lock store (Config.Locks)")
	}
	if !reflect.ValueOf(c.Locks).Comparable() {
		return fmt.Errorf("lock store %T cannot be compared: use a pointer", c.Locks)
	}
	if _, byName := c.Locks.(lock.NameWatcher); byName {
		return errors.New("this lock store is watched by name, so it shows no sessions: give it to elections (Spec.Locks), and a whole realm to Config.Locks")
	}
	if c.Host == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("host name: %w", err)
		}
		c.Host = strings.ToLower(host)
	}
	if err := checkName("host", c.Host, maxLabel); err != nil {
		return err
	}
	otherwise, _ := record.Profile(record.DefaultProfile)
	if c.Timing == (record.Timing{}) {
		c.Timing = otherwise
	}
	c.Timing = c.Timing.Filled(otherwise)
	if err := checkTiming(c.Timing); err != nil {
		return err
	}
	if c.WritesPerSecond == 0 {
		c.WritesPerSecond = member.WritesPerSecond
	}
	if c.WritesPerSecond < 0 {
		return fmt.Errorf("writes per second: %v must be more than 0", c.WritesPerSecond)
	}
	if c.Clock == nil {
		c.Clock = clock.Boottime()
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Abort == nil {
		log := c.Log
		c.Abort = func(err error) {
			// What holds the host up may hold the log up too: exit in any case.
			clock.AfterFunc(abortLogTime, func() { os.Exit(exitAborted) })
			log.Error("aborting: work cannot be stopped in time", zap.Error(err))
			_ = log.Sync() // the process ends either way
			os.Exit(exitAborted)
		}
	}
	return nil
}

// complete fills in the defaults of an election of the group and checks the rest.
func (s *Spec) complete(c *Config) error {
	if err := checkName("election", s.Name, maxLabel); err != nil {
		return err
	}
	if s.Lock == "" {
		s.Lock = s.Name
	}
	if err := checkName("lock", s.Lock, maxObject); err != nil {
		return fmt.Errorf("election %s: %w", s.Name, err)
	}
	if s.Locks == nil {
		s.Locks = c.Locks
	}
	if !reflect.ValueOf(s.Locks).Comparable() {
		return fmt.Errorf("election %s: lock store %T cannot be compared, so nobody can tell whether two elections share it: use a pointer", s.Name, s.Locks)
	}
	if prefix := session.Prefix(c.Group); strings.HasPrefix(s.Lock, prefix) {
		return fmt.Errorf("election %s: lock name %q: names that begin with %q are those of the group's sessions", s.Name, s.Lock, prefix)
	}
	if from := s.MigrateFrom; from != nil {
		if from.Locks == nil {
			return fmt.Errorf("election %s: migration: no lock store", s.Name)
		}
		if err := checkName("lock", from.Lock, maxObject); err != nil {
			return fmt.Errorf("election %s: migration: %w", s.Name, err)
		}
		if prefix := session.Prefix(c.Group); strings.HasPrefix(from.Lock, prefix) {
			return fmt.Errorf("election %s: migration: lock name %q: names that begin with %q are those of the group's sessions", s.Name, from.Lock, prefix)
		}
		if from.Locks == s.Locks && from.Lock == s.Lock {
			return fmt.Errorf("election %s: migration: from lock %q to itself", s.Name, s.Lock)
		}
	}
	if s.Timing == (record.Timing{}) {
		s.Timing = c.Timing
	}
	s.Timing = s.Timing.Filled(c.Timing)
	if err := checkTiming(s.Timing); err != nil {
		return fmt.Errorf("election %s: %w", s.Name, err)
	}
	if wait := s.Foreign.Wait; wait != 0 && wait < record.LeastForeignWait {
		return fmt.Errorf("election %s: foreign wait %v must be at least %v: 2 x renewDeadline + retryPeriod of the electors that share the lock (leave it out where that is not known)", s.Name, wait, record.LeastForeignWait)
	}
	if err := s.completeOutage(); err != nil {
		return fmt.Errorf("election %s: %w", s.Name, err)
	}
	if err := s.completeRenewal(c); err != nil {
		return fmt.Errorf("election %s: renewal by session: %w", s.Name, err)
	}
	if all := s.features(c).Clashes(); len(all) > 0 {
		clash := all[0]
		return fmt.Errorf("election %s: %s: %s (%s)", s.Name, clash.Field, clash.Problem, clash.Hint)
	}
	if s.Policy == nil {
		s.Policy = priority.RevisionLocation{}
	}
	if s.Bootstrap == 0 {
		s.Bootstrap = BootstrapWait
	}
	return nil
}

// features are those that must go together.
func (s *Spec) features(c *Config) record.Features {
	return record.Features{
		Disabled: s.Disabled, Ranges: s.Range, FailsOpen: s.Outage.Mode == OutageFailOpen, Migrates: s.MigrateFrom != nil,
		SharedWith: sharedWith[s.Foreign.Sharing], Apart: s.Locks != c.Locks, Timing: s.Timing, Session: c.Timing,
	}
}

// sharedWith names the electors that are not ours.
var sharedWith = map[Sharing]string{SharedWithClientGo: "client-go", SharedWithIstio: "istio"}

// failOpenLeases is for how many leaseDurations a term fails open where nothing is said.
const failOpenLeases = 10

// completeOutage fills in how long a term fails open.
func (s *Spec) completeOutage() error {
	open := s.Outage.Mode == OutageFailOpen
	switch {
	case s.Outage.For < 0 || s.Outage.For > OutageUnbounded:
		return fmt.Errorf("outage: %v is not from 0 to unbounded", s.Outage.For)
	case open && s.Outage.For == 0:
		s.Outage.For = failOpenLeases * s.Timing.LeaseDuration
	}
	return nil
}

// completeRenewal chooses what keeps terms alive, or says why a session cannot.
func (s *Spec) completeRenewal(c *Config) error {
	obstacle := s.features(c).SessionObstacle()
	switch s.Renewal {
	case record.RenewalRecord:
		return nil
	case record.RenewalSession:
		if obstacle != "" {
			return errors.New(obstacle)
		}
		return nil
	case "":
		s.Renewal = record.RenewalSession
		if obstacle != "" {
			s.Renewal = record.RenewalRecord
		}
		return nil
	}
	return fmt.Errorf("unknown renewal %q (want %s or %s)", s.Renewal, record.RenewalSession, record.RenewalRecord)
}
