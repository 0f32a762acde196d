package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/pkg/strict"
)

// Two members with different configurations of one election keep each other out by a
// lock that both hold while they lead. Members take a change up one after
// the other, so we refuse a change after which the old and the new configuration have no lock in common.

// String is kind/name, or kind/namespace/name where the lock is not kept beside the sessions.
func (l LockName) String() string {
	if l.Namespace != "" {
		return l.Kind + "/" + l.Namespace + "/" + l.Name
	}
	return l.Kind + "/" + l.Name
}

// refuseLock says why an election must not replace its earlier form: the two have no lock in
// common, or reverse a migration.
func (c *Configuration) refuseLock(before, after *Election) strict.Errors {
	was, is := before.LockNames(), after.LockNames()
	if was == nil || is == nil {
		return nil
	}
	field := after.Field + ".lock"
	for _, f := range []string{".lock.name", ".lock.kind", ".lock.namespace"} {
		if node, written := strict.Lookup(c.root, after.Field+f); written && node != nil {
			field = after.Field + f
		}
	}
	if len(was) == 2 && len(is) == 2 && was[0] == is[1] && was[1] == is[0] {
		return strict.Errors{c.errorAt(nil, after.Field+".lock.migrateFrom",
			fmt.Sprintf("this reverses the move from %v to %v while members are still moving: each member could hold one of the two locks, and nobody would lead", was[0], was[1]),
			fmt.Sprintf("first give every member the move from %v to %v, and wait until each has logged \"configuration changed\"; only then write one of the locks alone, %v to go back: while a member has only one of the two, no other may drop either", was[0], was[1], was[0]))}
	}
	if slices.ContainsFunc(was, func(l LockName) bool { return slices.Contains(is, l) }) {
		return nil
	}
	last := was[len(was)-1]
	return strict.Errors{c.errorAt(nil, field,
		fmt.Sprintf("the lock of election %s would change from %v to %v: this member would work at the same time as members that have not taken the change up yet", after.Name, last, is[len(is)-1]),
		fmt.Sprintf("add %s until every member has taken it up; or take the election out, and put it back when no member has it any more", c.migration(last, after)))}
}

// refuseSpace refuses another namespace of the sessions if an election has its lock beside them, so that members that are
// started with the document and members with the one before have no lock in common. A process keeps its namespace until its end, so nothing else would say that
// before the restarts. c is the document by itself.
func (c *Configuration) refuseSpace(before *Configuration) strict.Errors {
	if c.Namespace == before.Namespace || c.Namespace == "" || before.Namespace == "" {
		return nil
	}
	for i := range c.Elections {
		e := &c.Elections[i]
		at := slices.IndexFunc(before.Elections, func(o Election) bool { return o.Name == e.Name })
		if at < 0 {
			continue
		}
		was, is := before.Elections[at].LockNames(), e.LockNames()
		for j := range was {
			was[j].Namespace = cmp.Or(was[j].Namespace, before.Namespace)
		}
		for j := range is {
			is[j].Namespace = cmp.Or(is[j].Namespace, c.Namespace)
		}
		if was == nil || is == nil || slices.ContainsFunc(was, func(l LockName) bool { return slices.Contains(is, l) }) {
			continue
		}
		return strict.Errors{c.errorAt(nil, fieldNamespace,
			fmt.Sprintf("with it the lock of election %s would change from %v to %v: members that are restarted would work at the same time as members that are not yet", e.Name, was[len(was)-1], is[len(is)-1]),
			fmt.Sprintf("leave the locks where they are, with lock: {namespace: %s} in each election that has its lock there; once every member was restarted with that, they can move", was[len(was)-1].Namespace))}
	}
	return nil
}

// migration is the setting that makes an election move from a lock; it goes into a hint.
func (c *Configuration) migration(from LockName, e *Election) string {
	var fields []string
	if from.Namespace != e.Lock.Namespace {
		fields = append(fields, "namespace: "+cmp.Or(from.Namespace, c.Namespace))
	}
	if from.Kind != e.Lock.Kind {
		fields = append(fields, "kind: "+from.Kind)
	}
	if e.Suffix != "" || from.Name != e.Lock.Name { // without scope: revision, its name defaults to the lock's
		fields = append(fields, "name: "+from.Name)
	}
	return "migrateFrom: {" + strings.Join(fields, ", ") + "}"
}

// refuseScope refuses an election whose name is new only because an earlier election changed its
// scope.
func (c *Configuration) refuseScope(before *Configuration, e *Election) strict.Errors {
	for i := range before.Elections {
		old := &before.Elections[i]
		if old.written() != e.written() || slices.ContainsFunc(c.Elections, func(n Election) bool { return n.Name == old.Name }) {
			continue
		}
		was, is := old.LockNames(), e.LockNames()
		if was == nil || is == nil || slices.ContainsFunc(was, func(l LockName) bool { return slices.Contains(is, l) }) {
			continue
		}
		return strict.Errors{c.errorAt(nil, e.Field+".scope",
			fmt.Sprintf("the election %s would be %s, with the lock %v instead of %v: this member would work at the same time as members that have not taken the change up yet", old.Name, e.Name, is[len(is)-1], was[len(was)-1]),
			"take the election out, and put it back when no member has it any more")}
	}
	return nil
}

// written is the name as the document has it, without the suffix.
func (e *Election) written() string { return strings.TrimSuffix(e.Name, e.Suffix) }

// renamed warns of a new election that has the lock of a removed one.
func renamed(e *Election, inForce *Configuration, removed map[string]*Election) (notes []string) {
	for i := range inForce.Elections {
		old := &inForce.Elections[i]
		for _, l := range old.LockNames() {
			if removed[old.Name] != nil && slices.Contains(e.LockNames(), l) {
				notes = append(notes, fmt.Sprintf("it has the lock %v of %s, which is removed: until every member has taken this up, one of the two is led, the other by nobody", l, old.Name))
			}
		}
	}
	return notes
}

// mixed warns of effects that last while some members have the old form of the election and some the new one.
func mixed(before, after *Election) (notes []string) {
	const until = "until every member has taken this up, "
	if before.Disabled && !after.Disabled {
		notes = append(notes, until+"those that have not work beside the leader")
	}
	if after.Disabled && !before.Disabled {
		notes = append(notes, "every member that has taken this up works, whoever leads elsewhere")
	}
	if before.Range != after.Range {
		notes = append(notes, until+"ranges may share a moment")
	}
	if before.OnDeath != after.OnDeath {
		notes = append(notes, until+"a member that has onDeath: proof takes the lock of the dead at once")
	}
	if before.Outage != after.Outage {
		notes = append(notes, until+"two may work at once in an outage")
	}
	return notes
}
