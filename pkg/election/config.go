package election

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

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
	// Group is the name that all members share that take part in the same elections and see each other's
	// sessions.
	Group  string
	Member Member
	// Locks is the store of the realm, which all members share. It holds the sessions, and the lock of each
	// election whose Spec names no other store.
	Locks lock.Store
	// Host is the name of the Pod or host. Identities and names of sessions contain it, so no
	// two members may share one at a time: set it for several members on one machine. Default: the host's name.
	Host string
	// Timing applies to the session and to elections that state none. Without any field it is Default(). Else zero fields get
	// defaults, one by one (Timing.Filled), except PreemptDelay and MinHold, in which zero is a value: to change one field and
	// keep the others, change a copy of Default().
	Timing Timing
	// Preferences says which revision should lead. Default: none; then the member ignores pins, drains, pauses and
	// handovers. A steering.Source (pkg/revisions/steering) obeys them. Run calls Watch once, on a goroutine that Run owns, and
	// ends its context once the session has ended. If Watch takes longer than a second to return then, Run logs that and leaves
	// the goroutine behind, which outlives Run until Watch returns. What Watch delivers by then has no effect.
	Preferences Preferences
	// WritesPerSecond bounds the requests to the store, except beats and renewals. It keeps a
	// fast API server from an endless burst. A slow store is spared by another limit: at most 32
	// such requests are under way there at a time, and at most 24 of them are neither renewals
	// nor releases of locks. The member also waits when the store asks it to.
	// Default: 2000.
	WritesPerSecond float64
	// Version is the program's version; the session publishes it. Default: unknown.
	Version string
	// Clock is the time. Default: CLOCK_BOOTTIME.
	Clock clock.Clock
	// Log takes transitions and trouble. Logr and Slog make one of other loggers. Default: slog.Default(), which
	// writes to standard error unless the program changed it; zap.NewNop() is silent. The Manager
	// waits for each line, so Log must take it soon or queue it. An election logs one line or more when it is won, and when it is
	// lost. If the lines of all elections that move at once take some ten seconds (in the default timing), the member loses its
	// session and its terms: 300 elections kept them with 30 ms a line, and lost them with 100 ms. Work that has
	// ended may wait for Log, too, and is not started again meanwhile. A Log that queues needs a Sync that waits for the
	// queue: the Manager calls it before Abort. A write to standard output or error whose reader is
	// gone ends a Go process with SIGPIPE: catch that signal with signal.Notify if the log must not end the work.
	Log *zap.Logger
	// Parent is a process that can prove the death of this one, such as that of package parent. Default: none;
	// then others wait after a death until the session has lapsed.
	Parent Parent
	// Proofs are ways to know that this member is dead, beside its Parent's, by which others may end its session before
	// it has lapsed: ProofCgroup (see Bury), ProofOperator, ProofKubelet and ProofOutOfService (see BuryOnWord). Default:
	// none.
	Proofs []Proof
	// Container is where this member runs. Announce writes the identity of an incarnation to the container's
	// termination log; the Manager calls it before it creates the session, one call at a time. ProofKubelet needs both,
	// ProofOutOfService needs Container. If Announce fails, or takes longer than a second, the member goes on: no kubelet's
	// word fits it then, or not before Announce is done. A call that hangs outlives Run.
	Container record.Container
	Announce  func(identity string) error
	// Abort must end the process at once, without a wait for a log: the work goes on until then, and others may begin
	// soon after its time. The Manager calls it when work can no longer be stopped in time, or has gone on for too long. It has
	// told Log before, or tried to. Default: exit with status 70.
	Abort func(error)
}

// Member describes a member, apart from its identity.
type Member struct {
	Revision string
	// Location defaults to record.Local.
	Location record.Location
	Weight   int
}

// Preference says which revision should lead each election at one moment. It never changes,
// and any goroutine may use it. A record.Preferred prefers the same in all elections.
type Preference interface {
	// Digest identifies everything that For depends on: two members with equal digests prefer the same in
	// every election. Sessions publish it and people read it, so it must be short.
	Digest() string
	// For returns the preference for the named election, which need not exist.
	For(election string) record.Preferred
}

// Preferences is a source of the preferred revision.
type Preferences interface {
	// Watch delivers the preference, at first and whenever it changes, until ctx ends; then
	// it returns nil, within a second. It must call deliver only from the goroutine that called Watch.
	// A source that fails keeps its last value; until it has one, it delivers nothing, and
	// nothing moves.
	Watch(ctx context.Context, deliver func(Preference)) error
}

// Spec is one election. Name is required.
type Spec struct {
	Name string
	// Disabled: the election is not held. Every member leads and works for as long as it runs, whatever
	// others do and whether or not it reaches the store. No lock is read or written; terms have no token.
	Disabled bool
	// Lock is the name of the lock object. Default: Name.
	Lock string
	// Locks stores the lock object. Set it to use another kind of lock object in the same realm. It must be
	// comparable, and the same for all elections with that kind of lock: each store costs a watch and a goroutine for as long
	// as Run goes on, also after its last election was removed. Default: the Manager's.
	Locks lock.Store
	// MigrateFrom is the election's old lock. A member takes it first, and leads only while it
	// holds both locks. Set it in every member that has the new lock, until no member is left
	// that has only the old one: two members without a common lock would work at once.
	MigrateFrom *LockRef
	// Timing defaults to the Manager's, as a whole. If any field is set, zero fields get defaults, one by one
	// (Timing.Filled), except PreemptDelay and MinHold, in which zero is a value.
	Timing Timing
	// Policy defaults to priority.RevisionLocation.
	Policy priority.Policy
	// Bootstrap defaults to BootstrapWait.
	Bootstrap Bootstrap
	// Foreign says which electors that are not ours share the lock. Default: none.
	Foreign Foreigners
	// Range gives each term a range of wall-clock time that it shares with no other term; see Status.Range.
	// The holder does not release the lock before its range is over, so a handover takes up to
	// leaseDuration. All members must have the same setting.
	Range bool
	// Outage says what happens to a term whose renewals fail. Default: its work stops. With
	// OutageFailOpen, For defaults to 10 x leaseDuration.
	Outage Outage
	// OnDeath says when the lock is free after its holder was proved dead. Default: OnDeathProof, which is at once.
	// OnDeathLease is for work that goes on outside the member. All members must have the same setting.
	OnDeath OnDeath
	// Renewal is what keeps a term alive: the beats of the member's session, which renew any number of
	// elections at once, or renewals of the lock's own record. Default: the session, unless
	// record.Features.SessionObstacle says why not, or an elector that is not Primacy's ever held the lock: then
	// such an elector can take the lock a leaseDuration after the last member died. Members with different settings
	// may live side by side.
	Renewal record.Renewal
}

// LockRef names a lock object in a store.
type LockRef struct {
	Lock  string
	Locks lock.Store
}

var dns1123 = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

const (
	// maxLabel is the greatest length of a value that is also written as a label.
	maxLabel = 63
	// maxObject is the greatest length of an object's name.
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
		return fmt.Errorf("lock store %T cannot be compared with other stores (use a pointer)", c.Locks)
	}
	if _, byName := c.Locks.(lock.NameWatcher); byName {
		return errors.New("Config.Locks must show all objects, since it holds the sessions, but this store is watched by name (use it as Spec.Locks of single elections)")
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
	for i, w := range c.Proofs {
		switch nowhere := c.Container == (record.Container{}); {
		case w == ProofParent || !w.IsKnown():
			return fmt.Errorf("proofs: %q is no kind of proof to list (%s, %s, %s and %s are; a Parent's counts without)", w, ProofCgroup, ProofOperator, ProofKubelet, ProofOutOfService)
		case slices.Contains(c.Proofs[:i], w):
			return fmt.Errorf("proofs: %q stands there twice (leave one of the two out)", w)
		case w == ProofKubelet && (nowhere || c.Announce == nil):
			return errors.New("proofs: no kubelet can tell of this member (set Container and Announce)")
		case w == ProofOutOfService && nowhere:
			return errors.New("proofs: it is not known on which node this member is (set Container)")
		}
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
		c.Log = Slog(slog.Default())
	}
	if c.Abort == nil {
		c.Abort = exit
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
		return fmt.Errorf("election %s: lock store %T cannot be compared with other stores (use a pointer)", s.Name, s.Locks)
	}
	if prefix := session.Prefix(c.Group); strings.HasPrefix(s.Lock, prefix) {
		return fmt.Errorf("election %s: lock name %q: the prefix %q is reserved for the group's sessions", s.Name, s.Lock, prefix)
	}
	if from := s.MigrateFrom; from != nil {
		if from.Locks == nil {
			return fmt.Errorf("election %s: migration: no lock store", s.Name)
		}
		if err := checkName("lock", from.Lock, maxObject); err != nil {
			return fmt.Errorf("election %s: migration: %w", s.Name, err)
		}
		if prefix := session.Prefix(c.Group); strings.HasPrefix(from.Lock, prefix) {
			return fmt.Errorf("election %s: migration: lock name %q: the prefix %q is reserved for the group's sessions", s.Name, from.Lock, prefix)
		}
		if from.Locks == s.Locks && from.Lock == s.Lock {
			return fmt.Errorf("election %s: migration: the old and the new lock are both %q", s.Name, s.Lock)
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
		return fmt.Errorf("election %s: foreign wait %v must be at least %v (set it to 3 x renewDeadline + retryPeriod of the electors that share the lock, or leave it out if you do not know these)", s.Name, wait, record.LeastForeignWait)
	}
	if wait := s.Foreign.Wait; wait > record.MaxForeignWait {
		return fmt.Errorf("election %s: foreign wait %v must be at most %v (set it to 3 x renewDeadline + retryPeriod of the electors that share the lock, or leave it out if you do not know these)", s.Name, wait, record.MaxForeignWait)
	}
	switch s.OnDeath {
	case "":
		s.OnDeath = OnDeathProof
	case OnDeathProof, OnDeathLease:
	default:
		return fmt.Errorf("election %s: unknown onDeath %q (want %s or %s)", s.Name, s.OnDeath, OnDeathProof, OnDeathLease)
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

// features returns the settings that may rule each other out.
func (s *Spec) features(c *Config) record.Features {
	return record.Features{
		Disabled: s.Disabled, Ranges: s.Range, FailsOpen: s.Outage.Mode == OutageFailOpen, Migrates: s.MigrateFrom != nil,
		SharedWith: sharedWith[s.Foreign.Sharing], Apart: s.Locks != c.Locks, Timing: s.Timing, Session: c.Timing,
	}
}

// sharedWith names the electors that are not ours.
var sharedWith = map[Sharing]string{SharedWithClientGo: "client-go", SharedWithIstio: "istio"}

// failOpenLeases is the default for how long a term fails open, in leaseDurations.
const failOpenLeases = 10

// completeOutage checks how long a term fails open, or fills it in.
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
	case record.RenewalUnlessForeign: // completed before
		s.Renewal = ""
		return s.completeRenewal(c)
	case record.RenewalSession:
		if obstacle != "" {
			return errors.New(obstacle)
		}
		return nil
	case "":
		s.Renewal = record.RenewalUnlessForeign
		if obstacle != "" {
			s.Renewal = record.RenewalRecord
		}
		return nil
	}
	return fmt.Errorf("unknown renewal %q (want %s or %s)", s.Renewal, record.RenewalSession, record.RenewalRecord)
}
