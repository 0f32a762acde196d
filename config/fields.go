package config

import (
	"reflect"
	"slices"
)

// Every field of a configuration is in one of these tables. The table decides what a change
// does to a running process; see Plan.

// ofProcess are the fields that a process keeps from start to end. Each function
// returns a pointer to the field.
var ofProcess = []struct {
	field string
	of    func(*Configuration) any
}{
	{fieldGroup, func(c *Configuration) any { return &c.Group }},
	{fieldNamespace, func(c *Configuration) any { return &c.Namespace }},
	{fieldRevision, func(c *Configuration) any { return &c.Member.Revision }},
	{fieldLocation, func(c *Configuration) any { return &c.Member.Location }},
	{"member.weight", func(c *Configuration) any { return &c.Member.Weight }},
	{"http.address", func(c *Configuration) any { return &c.HTTP.Address }},
	{"http.tls.certFile", func(c *Configuration) any { return &c.HTTP.TLS.CertFile }},
	{"http.tls.keyFile", func(c *Configuration) any { return &c.HTTP.TLS.KeyFile }},
	{"http.access", func(c *Configuration) any { return &c.HTTP.Access }},
	{"http.metrics", func(c *Configuration) any { return &c.HTTP.Metrics }},
	{"member.proofs", func(c *Configuration) any { return &c.Member.Proofs }},
	{"member.removeSessions", func(c *Configuration) any { return &c.Member.RemoveSessions }},
	// The session uses these. The other timings belong to elections and change with them.
	{"timing.leaseDuration", func(c *Configuration) any { return &c.Timing.LeaseDuration }},
	{"timing.renewInterval", func(c *Configuration) any { return &c.Timing.RenewInterval }},
	{"timing.drift", func(c *Configuration) any { return &c.Timing.Drift }},
}

// keep copies the fields of the process from the configuration in force.
func (c *Configuration) keep(inForce *Configuration) {
	for _, f := range ofProcess {
		reflect.ValueOf(f.of(c)).Elem().Set(reflect.ValueOf(f.of(inForce)).Elem())
	}
}

// ofElection are the fields in which two elections of one name may differ. Each function returns
// a comparable value.
var ofElection = []struct {
	field string
	of    func(*Election) any
}{
	{"enabled", func(e *Election) any { return !e.Disabled }},
	{"lock.kind", func(e *Election) any { return e.Lock.Kind }},
	{"lock.name", func(e *Election) any { return e.Lock.Name }},
	{"lock.namespace", func(e *Election) any { return e.Lock.Namespace }},
	{"lock.migrateFrom", func(e *Election) any { return e.Lock.from() }},
	{"lock.renewal", func(e *Election) any { return e.Lock.Renewal }},
	{"lock.sharedWith", func(e *Election) any { return e.Lock.SharedWith }},
	{"lock.foreign", func(e *Election) any { return e.Lock.Foreign }},
	{"priority.policy", func(e *Election) any { return e.Policy }},
	{"priority.chain", func(e *Election) any { return quoted(e.Chain) }},
	{"timing.leaseDuration", func(e *Election) any { return e.Timing.LeaseDuration }},
	{"timing.renewInterval", func(e *Election) any { return e.Timing.RenewInterval }},
	{"timing.stopGrace", func(e *Election) any { return e.Timing.StopGrace }},
	{"timing.nominateDelay", func(e *Election) any { return e.Timing.NominateDelay }},
	{"timing.preemptDelay", func(e *Election) any { return e.Timing.PreemptDelay }},
	{"timing.minHold", func(e *Election) any { return e.Timing.MinHold }},
	{"timing.standDown", func(e *Election) any { return e.Timing.StandDown }},
	{"timing.drift", func(e *Election) any { return e.Timing.Drift }},
	{"bootstrap", func(e *Election) any { return e.Bootstrap }},
	{"range", func(e *Election) any { return e.Range }},
	{"onDeath", func(e *Election) any { return e.OnDeath }},
	{"outage", func(e *Election) any { return e.Outage }},
	{"failopenFor", func(e *Election) any { return e.FailopenFor }},
	{"runners", func(e *Election) any { return digestOf(e.Runners) }},
}

// differences are the fields in which two elections of one name differ.
func differences(before, after *Election) (fields []string) {
	for _, f := range ofElection {
		if f.of(before) != f.of(after) {
			fields = append(fields, f.field)
		}
	}
	return fields
}

// from is the lock that the election migrates from; the zero LockName for none.
func (l Lock) from() LockName {
	if l.MigrateFrom == nil {
		return LockName{}
	}
	return *l.MigrateFrom
}

// same says whether two configurations mean the same.
func same(a, b *Configuration) bool {
	for _, f := range ofProcess {
		if !reflect.DeepEqual(f.of(a), f.of(b)) {
			return false
		}
	}
	return a.DefaultRevision.digest() == b.DefaultRevision.digest() &&
		slices.EqualFunc(a.Elections, b.Elections, func(x, y Election) bool {
			return x.Name == y.Name && x.Suffix == y.Suffix && x.LeaderLabel == y.LeaderLabel && len(differences(&x, &y)) == 0
		})
}
