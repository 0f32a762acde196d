package app

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

var explainedAt = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// situation is what the API shows of election "dns" of group edge: old-0 of revision 1-9-0 leads it, new-0 of
// 1-10-0 lives beside it, and the default is 1-9-0. Tests change it.
type situation struct {
	lock     lock.Entry
	old, new lock.Entry
	more     []lock.Entry // the sessions of other members
	plan     rollout.Plan
	expected []status.Expected
	facts
}

const (
	oldZero = "old-0_00000001"
	newZero = "new-0_00000002"
)

func before(d time.Duration) time.Time { return explainedAt.Add(-d) }

func memberSession(identity, revision string) lock.Entry {
	m := &record.Member{Identity: identity, Revision: revision, Location: record.Local, Weight: 100, Ready: true, Preference: "1-9-0"}
	m.DriftPPM, m.LongestLease = 5000, 15
	name := "primacy-edge-" + record.HostOf(identity)
	return lock.Entry{Name: name, Version: record.Version{UID: "uid of " + name}, Record: &record.Record{
		Holder: identity, Duration: 15 * time.Second, Acquired: before(time.Hour), Renewed: before(2 * time.Second), Group: "edge", Member: m,
		Mark: &record.Mark{Identity: identity, Key: m.Key(), Beat: 7, Duration: 15 * time.Second, Renewal: record.RenewalRecord},
	}}
}

func (s *situation) standWithoutTakeovers() {
	s.plan.Standstill = &rollout.Standstill{By: "eve", At: rollout.At(before(time.Hour)), Until: rollout.At(explainedAt.Add(time.Hour)), NoTakeover: true}
}

func usual() *situation {
	s := &situation{old: memberSession(oldZero, "1-9-0"), new: memberSession(newZero, "1-10-0")}
	s.lock = lock.Entry{Name: "dns", Record: &record.Record{Duration: 15 * time.Second, Renewed: before(time.Hour), Token: 206, Group: "edge", Election: "dns"}}
	s.hold(s.old, time.Hour)
	s.lock.Record.History = []record.Entry{{When: before(time.Hour), Who: oldZero, Why: "took over: orphaned"}}
	profile, err := record.Profile(record.DefaultProfile)
	if err != nil {
		panic(err)
	}
	s.rules = rules{policy: priority.RevisionLocation{}, timing: profile, standDown: profile.StandDown}
	s.byDefault, s.defaultFrom = record.Prefer("1-9-0"), "ConfigMap primacy-revisions, key default"
	return s
}

// hold lets a member lead since that long.
func (s *situation) hold(session lock.Entry, since time.Duration) {
	r, m := s.lock.Record, session.Record.Member
	r.Holder, r.Acquired, r.Transitions = m.Identity, before(since), 2
	r.Mark = &record.Mark{
		Identity: m.Identity, Transitions: 2, Key: m.Key(), Beat: 9, Duration: 15 * time.Second,
		Renewal: record.RenewalSession, Session: session.Name, SessionUID: session.Version.UID,
	}
}

// fail lets the work of a member fail, which then stands down. Nobody leads afterwards.
func (s *situation) fail(identity string, ago time.Duration) {
	m := s.old.Record.Member
	if identity == newZero {
		m = s.new.Record.Member
	}
	m.Standing = []string{"dns"}
	r := s.lock.Record
	r.Holder, r.Mark.Identity, r.Acquired, r.Renewed = "", "", before(ago), before(ago)
	r.History = append(r.History, record.Entry{When: before(ago), Who: identity, Why: "released: runners failed"})
}

// unlist has members say that no list has shown them the lock.
func (s *situation) unlist(sessions ...lock.Entry) {
	for _, one := range sessions {
		one.Record.Member.Standing, one.Record.Member.Lacks = []string{"dns"}, []record.Lack{{Election: "dns", Why: record.NoList}}
	}
}

// unlocked leaves the election without a lock, although the configuration has it.
func (s *situation) unlocked() {
	s.lock, s.expected = lock.Entry{Name: "dns"}, []status.Expected{{Election: "dns", Lock: "dns"}}
}

// foreign lets an elector hold the lock that is not Primacy. No revision is preferred.
func (s *situation) foreign(holder string, renewed time.Duration) {
	s.lock.Record = &record.Record{
		Holder: holder, Duration: 15 * time.Second, Acquired: before(time.Minute), Renewed: before(renewed),
		Transitions: 3, Group: "edge", Election: "dns",
	}
	s.prefer("")
}

// prefer makes a revision the stored default, which all members see.
func (s *situation) prefer(revision string) {
	s.byDefault = record.Prefer(revision)
	s.agree()
}

// agree lets all members see what is stored.
func (s *situation) agree() {
	for _, m := range append([]lock.Entry{s.old, s.new}, s.more...) {
		m.Record.Member.Preference = s.plan.Digest(s.byDefault)
	}
}

// drain drains members.
func (s *situation) drain(members ...string) {
	for _, m := range members {
		s.plan.Drained = append(s.plan.Drained, rollout.Drain{Member: m, By: "eve", At: rollout.At(before(time.Hour))})
	}
}

func (s *situation) explain(t *testing.T) explanation {
	t.Helper()
	f := s.facts
	f.plan = s.plan
	f.notes = view.Standing(f.plan)
	var err error
	f.report = status.Of(status.Selection{Group: "edge", Expected: s.expected}, append([]lock.Entry{s.lock, s.old, s.new}, s.more...), explainedAt)
	if f.election, err = electionNamed(f.report, "dns", "edge-system"); err != nil {
		t.Fatal(err)
	}
	return f.explain()
}
