package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/strict"
)

func (r *resolver) elections(docs []*electionDoc) {
	names := make(map[string]string, len(docs))
	locks := make(map[string]string, len(docs))
	for i, doc := range docs {
		at := fmt.Sprintf("elections[%d]", i)
		e := r.election(at, doc)
		if r.unique(names, e.Name, at+".name", "%q is the name of %s in line %d too", "names must differ") && !r.obscure(at) {
			r.unique(locks, e.Lock.LockName().String(), r.lockField(at), "the lock %q belongs to %s in line %d too", "give one of them another lock.name")
			if from := e.Lock.MigrateFrom; from != nil {
				r.unique(locks, from.String(), at+".lock.migrateFrom", "the lock %q belongs to %s in line %d too", "name the lock that this election had before")
			}
		}
		r.cfg.Elections = append(r.cfg.Elections, e)
	}
}

// unique reports a second field with the same value.
func (r *resolver) unique(seen map[string]string, value, field, problem, hint string) bool {
	first, twice := seen[value]
	if !twice {
		seen[value] = field
		return true
	}
	r.fail(field, hint, problem, value, first, r.line(first))
	return false
}

// formerScope refuses a former lock of another kind or namespace that has no name: the election may have had one lock, or one
// for each revision. If we guessed wrong, we would share no lock with members that have the former configuration.
func (r *resolver) formerScope(at string, e *Election) {
	from := e.Lock.MigrateFrom
	if from == nil || r.given(at+".name") || from.Kind == e.Lock.Kind && from.Namespace == e.Lock.Namespace {
		return
	}
	r.clash(at, fmt.Sprintf("write name: %s if the election had scope: revision before, else name: %s", e.Lock.Name, from.Name),
		"does not say whether the election had one lock before, or one for each revision")
}

// lockField is the field that names an election's lock.
func (r *resolver) lockField(at string) string {
	if field := at + ".lock.name"; r.given(field) {
		return field
	}
	return at + ".name"
}

func (r *resolver) election(at string, doc *electionDoc) Election {
	e := Election{Name: doc.Name, Field: at}
	e.Node, _ = strict.Lookup(r.cfg.root, at)
	named := r.name(at+".name", e.Name, labelledName)
	e.Lock = r.lock(at, doc)
	if scope := at + ".scope"; r.oneOf(scope, doc.Scope, string(ScopeGroup), string(ScopeRevision)) == string(ScopeRevision) && named && !r.obscure("member") {
		e.Suffix = "-" + r.cfg.Member.Revision
		e.Name, e.Lock.Name = e.Name+e.Suffix, e.Lock.Name+e.Suffix
		r.formerScope(at+".lock.migrateFrom", &e)
		r.scoped(scope, "election", e.Name, labelledName)
		r.scoped(scope, "lock", e.Lock.Name, objectName)
	}
	r.noSession(r.lockField(at), e.Lock.Name)
	if from := e.Lock.MigrateFrom; from != nil && *from == e.Lock.LockName() {
		other := "ConfigMap"
		if e.Lock.Kind == other {
			other = DefaultLockKind
		}
		r.clash(at+".lock.migrateFrom", "name the kind or the name that it had before, such as kind: "+other, "is the lock that the election has now")
		e.Lock.MigrateFrom = nil
	}
	r.priority(at+".priority", doc.Priority, &e)
	e.Timing = r.electionTiming(at, doc)
	e.Bootstrap = Bootstrap(r.oneOf(at+".bootstrap", doc.Bootstrap, string(BootstrapWait), string(BootstrapImmediate)))
	r.outage(at, doc, &e)
	e.Lock.Renewal = r.renewal(at, doc.Lock, &e)
	e.Disabled = doc.Enabled != nil && !*doc.Enabled
	e.LeaderLabel = doc.LeaderLabel
	if e.Disabled && e.LeaderLabel {
		r.clash(at+".leaderLabel", "leave out one of the two", "with enabled: false there is no leader")
	}
	for _, clash := range r.features(&e).Clashes() {
		r.clash(at+"."+clash.Field, clash.Hint, "%s", clash.Problem)
	}
	e.Runners = r.runners(at+".runners", doc.Runners)
	return e
}

// scoped checks a name that has a revision in it.
func (r *resolver) scoped(field, what, name string, f form) {
	const hint = "choose a shorter name, or a revision of lower-case letters, digits, dashes and dots"
	switch {
	case len(name) > f.max:
		r.fail(field, hint, "the %s would be called %.270q, which has %d characters, and %d are allowed", what, name, len(name), f.max)
	case !f.pattern.MatchString(name):
		r.fail(field, hint, "the %s would be called %q, which is not a valid name", what, name)
	}
}

// priority resolves who outranks whom.
func (r *resolver) priority(at string, doc priorityDoc, e *Election) {
	policy, chain := at+".policy", at+".chain"
	if !r.given(chain) {
		e.Policy = Policy(r.word(policy, doc.Policy, string(DefaultPolicy)))
		return
	}
	e.Chain = doc.Chain
	if r.given(policy) {
		r.fail(chain, "leave out one of the two", "there is a policy too, in line %d", r.line(policy))
	}
	if len(doc.Chain) == 0 {
		r.fail(chain, "write policy: none if nobody should outrank anybody", "has no keys")
	}
	for i, key := range doc.Chain {
		if slices.Contains(doc.Chain[:i], key) {
			r.fail(fmt.Sprintf("%s[%d]", chain, i), "leave one of the two out", "%q stands there twice", key)
		}
	}
}

func (r *resolver) lock(at string, doc *electionDoc) Lock {
	lock := Lock{Kind: r.word(at+".lock.kind", doc.Lock.Kind, DefaultLockKind), Name: doc.Name}
	if node, given := strict.Lookup(r.cfg.root, at+".lock"); given {
		lock.Node = node
	}
	field := r.lockField(at)
	if field == at+".lock.name" {
		lock.Name = doc.Lock.Name
		r.name(field, lock.Name, objectName)
	}
	lock.Namespace = r.place(at+".lock.namespace", doc.Lock.Namespace, "")
	r.sharing(at, doc.Lock, &lock)
	r.migration(at+".lock.migrateFrom", doc.Lock.MigrateFrom, &lock)
	return lock
}

// noSession refuses a lock whose name may be that of a session's Lease.
func (r *resolver) noSession(field, lock string) {
	if prefix := "primacy-" + r.cfg.Group + "-"; r.cfg.Group != "" && strings.HasPrefix(lock, prefix) {
		r.fail(field, "give the lock another name", "%q may be the name of a session: those of this group begin with %s", lock, prefix)
	}
}

// place resolves the namespace of a lock: empty if it is that of the sessions. It decides what renews the lock and which
// rights members need, so it must not depend on where a member happens to run.
func (r *resolver) place(field, namespace, otherwise string) string {
	if !r.given(field) {
		return otherwise
	}
	good := r.name(field, namespace, dnsLabel)
	switch {
	case good && r.cfg.Namespace == "" && r.process != nil && r.given(fieldNamespace):
		r.fail(field, "restart it: sessions stay where they are while it runs", "this process began with a configuration that does not say where its sessions are")
	case good && r.cfg.Namespace == "" && !r.obscure(fieldNamespace):
		r.fail(field, "write namespace: ... at the top of the file, or give --namespace or PRIMACY_NAMESPACE", "the configuration says where this lock is, but not where the sessions are")
	case namespace == r.cfg.Namespace:
		return ""
	}
	return namespace
}

// renewal resolves what keeps terms alive: by default the member's session if possible, and if no elector of
// another kind ever held the lock; else the record itself.
func (r *resolver) renewal(at string, doc lockDoc, e *Election) record.Renewal {
	field := at + ".lock.renewal"
	obstacle := r.features(e).SessionObstacle()
	if !r.given(field) {
		if obstacle != "" {
			return record.RenewalRecord
		}
		return record.RenewalUnlessForeign
	}
	renewal := record.Renewal(r.oneOf(field, doc.Renewal, string(record.RenewalSession), string(record.RenewalRecord)))
	if renewal == record.RenewalSession && obstacle != "" {
		r.clash(field, "write renewal: record, or leave it out", "%s", obstacle)
	}
	return renewal
}

// features are the settings of an election that must be compatible.
func (r *resolver) features(e *Election) record.Features {
	return record.Features{
		Disabled: e.Disabled, Ranges: e.Range, FailsOpen: e.Outage == OutageFailopen, Migrates: e.Lock.MigrateFrom != nil,
		SharedWith: string(e.Lock.SharedWith), Apart: e.Lock.Kind != DefaultLockKind || e.Lock.Namespace != "", Timing: e.Timing, Session: r.cfg.Timing,
	}
}

// migration resolves the lock that the election had until now.
func (r *resolver) migration(at string, doc *migrationDoc, lock *Lock) {
	if doc == nil {
		return
	}
	from := LockName{r.word(at+".kind", doc.Kind, lock.Kind), r.place(at+".namespace", doc.Namespace, lock.Namespace), lock.Name}
	if r.given(at + ".name") {
		from.Name = doc.Name
		r.name(at+".name", from.Name, objectName)
		r.noSession(at+".name", from.Name)
	}
	lock.MigrateFrom = &from
}

// sharing resolves who else may hold the lock.
func (r *resolver) sharing(at string, doc lockDoc, lock *Lock) {
	field := at + ".lock.sharedWith"
	if r.given(field) {
		lock.SharedWith = SharedWith(r.oneOf(field, doc.SharedWith, string(SharedWithClientGo), string(SharedWithIstio)))
	}
	if doc.Foreign == nil {
		return
	}
	foreign := at + ".lock.foreign"
	if lock.SharedWith != SharedWithClientGo {
		r.clash(foreign, "write sharedWith: client-go, or leave foreign out", "the timings of client-go's electors, but the lock is not shared with any")
	}
	lock.Foreign = ForeignTimings{doc.Foreign.RenewDeadline, doc.Foreign.RetryPeriod}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"renewDeadline", lock.Foreign.RenewDeadline}, {"retryPeriod", lock.Foreign.RetryPeriod}} {
		if f.value <= 0 || f.value > record.MaxTiming {
			r.fail(foreign+"."+f.name, "both are set where the elector is made, such as 10s and 2s", "must be more than 0 and at most a year")
			return
		}
	}
	r.foreignArithmetic(foreign, lock.Foreign)
}

// retryJitter times its retryPeriod is how long an elector of client-go may wait between attempts. It
// refuses to start if its renewDeadline is not longer than this wait.
const retryJitter = 1.2

// foreignArithmetic refuses timings that no elector of client-go can have.
func (r *resolver) foreignArithmetic(at string, f ForeignTimings) {
	if most := time.Duration(retryJitter * float64(f.RetryPeriod)); f.RenewDeadline <= most {
		r.clash(at+".renewDeadline", "they may have changed places", "%v must be more than %v x retryPeriod %v = %v, or the elector would not start", f.RenewDeadline, retryJitter, f.RetryPeriod, most)
	}
	if f.Wait() < record.LeastForeignWait {
		r.clash(at, "check the units", "a claim would wait for 3 x renewDeadline %v + retryPeriod %v = %v, which must be at least %v", f.RenewDeadline, f.RetryPeriod, f.Wait(), record.LeastForeignWait)
	}
}

func (r *resolver) runners(at string, docs []runnerDoc) []Runner {
	names := make(map[string]string, len(docs))
	runners := make([]Runner, len(docs))
	for i, doc := range docs {
		entry := fmt.Sprintf("%s[%d]", at, i)
		r.name(entry+".name", doc.name, dnsLabel)
		r.unique(names, doc.name, entry+".name", "%q is the name of %s in line %d too", "names must differ within an election")
		runners[i] = Runner{
			Name:   doc.name,
			Mode:   doc.mode,
			OnExit: doc.onExit,
			Block:  Block{Kind: doc.kind, Field: strict.Join(entry, doc.kind), Node: doc.node},
			Entry:  Block{Kind: doc.kind, Field: entry, Node: doc.entry},
		}
	}
	return runners
}
