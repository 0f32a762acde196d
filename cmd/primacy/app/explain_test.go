package app

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

var updateExplained = flag.Bool("update-explained", false, "write testdata/explain anew")

// rolloutOf is a rollout in a phase, with dns in its reach.
func rolloutOf(phase rollout.Phase) rollout.Plan {
	spec := &rollout.Spec{UID: "0123456789abcdef", Generation: 1, Stable: "1-9-0", Canary: "1-10-0", StartedAt: rollout.At(before(time.Hour)), Steps: []rollout.Step{{SetWeight: 100}}}
	return rollout.Plan{Rollout: spec, Status: &rollout.Status{UID: spec.UID, Stable: spec.Stable, Canary: spec.Canary, Phase: phase, Step: 1, Reach: rollout.Reach{Names: []string{"dns"}}}}
}

var situations = []struct {
	name    string
	verdict verdict
	change  func(*situation)
}{
	{"as-it-should-be", verdictRight, func(*situation) {}},
	{"preferred-absent", verdictStuck, func(s *situation) { s.prefer("2-0-0") }},
	{"preferred-unready", verdictStuck, func(s *situation) {
		s.prefer("1-10-0")
		s.new.Record.Member.Ready = false
	}},
	{"two-unready", verdictStuck, func(s *situation) {
		s.more = []lock.Entry{memberSession("new-1_00000003", "1-10-0")}
		s.prefer("1-10-0")
		s.new.Record.Member.Ready, s.more[0].Record.Member.Ready = false, false
	}},
	{"preferred-lacks", verdictStuck, func(s *situation) {
		s.prefer("1-10-0")
		s.new.Record.Member.Standing = []string{"dns"}
		s.new.Record.Member.Lacks = []record.Lack{{Election: "web", Why: "runner a: b"}, {Election: "dns", Why: "runner writer: ./can-write exited with status 3: no key\u009b"}}
	}},
	{"leader-lacks", verdictRight, func(s *situation) {
		s.old.Record.Member.Standing = []string{"dns"}
		s.old.Record.Member.Lacks = []record.Lack{{Election: "dns", Why: "runner writer: /run/ready is not there"}}
	}},
	{"standing-down", verdictSoon, func(s *situation) {
		s.prefer("1-10-0")
		s.new.Record.Member.Standing = []string{"dns"}
		s.hold(s.old, 90*time.Second)
		s.lock.Record.History = []record.Entry{
			{When: before(100 * time.Second), Who: newZero, Why: "released: runners failed"},
			{When: before(90 * time.Second), Who: oldZero, Why: "took over: free"},
		}
	}},
	{"all-failed", verdictStuck, func(s *situation) {
		s.fail(newZero, 90*time.Second)
		s.fail(oldZero, 10*time.Second)
	}},
	{"all-failed-and-left", verdictStuck, func(s *situation) {
		s.fail(newZero, 90*time.Second)
		s.fail(oldZero, 10*time.Second)
		s.lock.Record.HandoverTo = newZero
		s.old.Record.Member.Lacks = []record.Lack{{Election: "dns", Why: "runner writer: /run/ready is not there"}}
	}},
	{"all-failed-and-led", verdictRight, func(s *situation) {
		s.fail(newZero, 90*time.Second)
		s.fail(oldZero, 10*time.Second)
		s.hold(s.old, 2*time.Second)
		s.lock.Record.History = append(s.lock.Record.History, record.Entry{When: before(2 * time.Second), Who: oldZero, Why: "took over: mine"})
	}},
	{"all-failed-of-many", verdictStuck, func(s *situation) { // the lock's history has room for the last few
		s.new.Record.Member.Standing = []string{"dns"}
		s.fail(oldZero, 10*time.Second)
	}},
	{"one-failed", verdictSoon, func(s *situation) { s.fail(oldZero, 10*time.Second) }},
	{"one-failed-one-lacks", verdictSoon, func(s *situation) {
		s.new.Record.Member.Standing = []string{"dns"}
		s.new.Record.Member.Lacks = []record.Lack{{Election: "dns", Why: "runner writer: /run/ready is not there"}}
		s.fail(oldZero, 10*time.Second)
	}},
	{"no-list-for-anyone", verdictStuck, func(s *situation) {
		s.fail(oldZero, time.Hour)
		s.unlist(s.new, s.old)
	}},
	{"no-list-for-one", verdictSoon, func(s *situation) {
		s.fail(newZero, time.Hour)
		s.unlist(s.old)
		s.new.Record.Member.Standing = nil
	}},
	{"no-list-for-many", verdictStuck, func(s *situation) {
		s.fail(oldZero, time.Hour)
		s.unlist(s.new, s.old)
		for _, m := range []*record.Member{s.new.Record.Member, s.old.Record.Member} {
			m.Lacks = nil
			for i := range record.MostLacks {
				m.Lacks = append(m.Lacks, record.Lack{Election: fmt.Sprint("another-", i), Why: record.NoList})
			}
		}
	}},
	{"no-list-for-the-next", verdictRight, func(s *situation) { s.unlist(s.new) }},
	{"standing-for-none", verdictStuck, func(s *situation) {
		s.prefer("1-10-0")
		s.new.Record.Member.Standing = []string{record.EveryElection}
	}},
	{"failed-long-ago", verdictStuck, func(s *situation) {
		s.prefer("1-10-0")
		s.new.Record.Member.Standing = []string{"dns"}
		s.lock.Record.History = []record.Entry{
			{When: before(time.Hour), Who: newZero, Why: "released: runners failed"},
			{When: before(time.Hour), Who: oldZero, Why: "took over: free"},
		}
	}},
	{"pinned", verdictRight, func(s *situation) {
		s.plan.Pins = []rollout.Pin{{Election: "dns", Member: "old-0", By: "eve\x1b[2J", At: rollout.At(before(time.Hour))}}
		s.prefer("1-10-0")
	}},
	{"refused", verdictStuck, func(s *situation) {
		s.unlocked()
		s.old.Record.Member.Lags = "configuration refused: primacy.yaml:9:3: elections[1].runners[0].exec.command: no such file\x1b[2J"
		s.new.Record.Member.Lags = s.old.Record.Member.Lags
	}},
	{"refused-by-its-revision", verdictStuck, func(s *situation) { s.refusedBy(s.old, "1-9-0") }}, // the other one lives
	{"refused-by-another-revision", verdictStuck, func(s *situation) { s.refusedBy(s.old, "1-11-0") }},
	{"refused-by-one", verdictSoon, func(s *situation) { s.refusedBy(s.old, "") }},
	{"refused-and-led", verdictRight, func(s *situation) { // what is in force has the election, too
		s.new.Record.Member.Lags = "configuration refused: primacy.yaml:9:3: elections[1].runners[0].exec.command: no such file"
	}},
	{"divided-and-fallen", verdictStuck, func(s *situation) {
		s.prefer("1-10-0")
		s.old.Record.Member.Preference = "1-9-0"
		s.new.Record.Member.Fallen, s.new.Record.Acquired = 1, before(10*time.Second)
	}},
	{"divided-successor-fallen", verdictStuck, func(s *situation) {
		s.prefer("1-10-0")
		s.new.Record.Member.Preference = "1-9-0"
		s.new.Record.Member.Fallen, s.new.Record.Acquired = 1, before(10*time.Second)
	}},
	{"of-two-groups", verdictStuck, func(s *situation) {
		s.heldBy = "core"
		r := s.lock.Record
		r.Holder, r.Mark.Identity, r.Renewed = "core-0_00000003", "core-0_00000003", before(time.Second)
		r.Mark.Renewal, r.Mark.Session, r.Mark.SessionUID = record.RenewalRecord, "", ""
	}},
	{"foreign-holder", verdictStuck, func(s *situation) { s.foreign("kube-scheduler", time.Second) }},
	{"hostile-holder", verdictStuck, func(s *situation) { s.foreign("kube-scheduler\x1b[2J\u202egnp", time.Second) }},
	{"claim-waiting", verdictSoon, func(s *situation) {
		r := s.lock.Record
		r.Acquired, r.Renewed = before(10*time.Second), before(time.Second)
		r.Mark.Renewal, r.Mark.Session, r.Mark.SessionUID = record.RenewalRecord, "", ""
		r.Claim = &record.Claim{Identity: "kube-scheduler", Transitions: 1, Duration: 15 * time.Second}
		r.History = []record.Entry{{When: before(10 * time.Second), Who: oldZero, Why: "took over: foreign"}}
	}},
	{"min-hold", verdictSoon, func(s *situation) {
		s.prefer("1-10-0")
		s.hold(s.old, 4*time.Second)
		s.lock.Record.History = []record.Entry{
			{When: before(5 * time.Second), Who: newZero, Why: "released: member is leaving"},
			{When: before(4 * time.Second), Who: oldZero, Why: "took over: free"},
		}
	}},
	{"blocked-revision", verdictRight, func(s *situation) {
		s.plan = rolloutOf(rollout.RolledBack)
		s.prefer("1-10-0")
	}},
	{"blocked-by-policy", verdictRight, func(s *situation) {
		s.rules.policy = priority.None{}
		s.prefer("1-10-0")
	}},
	{"blocked-by-range", verdictSoon, func(s *situation) {
		s.rules.ranged = true
		s.prefer("1-10-0")
	}},
	{"divided", verdictStuck, func(s *situation) {
		s.prefer("1-10-0")
		s.old.Record.Member.Preference = "1-9-0"
	}},
	{"forced", verdictSoon, func(s *situation) {
		s.prefer("1-10-0")
		s.old.Record.Member.Preference, s.lock.Record.HandoverTo = "1-9-0", newZero
	}},
	{"forced-in-vain", verdictStuck, func(s *situation) {
		s.prefer("1-10-0")
		s.old.Record.Member.Preference, s.lock.Record.HandoverTo = "1-9-0", newZero
		s.new.Record.Member.Ready = false
	}},
	{"forced-to-the-drained", verdictStuck, func(s *situation) {
		s.prefer("1-10-0")
		s.old.Record.Member.Preference, s.lock.Record.HandoverTo = "1-9-0", newZero
		s.drain("new-0")
	}},
	{"divided-successor", verdictStuck, func(s *situation) {
		s.prefer("1-10-0")
		s.new.Record.Member.Preference = "1-9-0"
	}},
	{"stored-unseen", verdictStuck, func(s *situation) {
		s.prefer("1-9-0")
		s.byDefault = record.Prefer("1-10-0")
	}},
	{"unknown-owner", verdictSoon, func(s *situation) { s.lock.Record.Mark.Transitions = 1 }},
	{"unknown-owner-of-one", verdictSoon, func(s *situation) {
		s.lock.Record.Mark.Transitions = 1
		s.new.Record.Renewed = before(time.Minute)
	}},
	{"silent-holder", verdictSoon, func(s *situation) { s.old.Record.Renewed = before(15100 * time.Millisecond) }},
	{"left-to-successor", verdictSoon, func(s *situation) {
		r := s.lock.Record
		r.Holder, r.Mark.Identity, r.HandoverTo, r.Renewed, r.Acquired = "", "", newZero, before(time.Second), before(time.Second)
		r.History = append(r.History, record.Entry{When: before(time.Second), Who: oldZero, Why: "released: better member is ready"})
		s.prefer("1-10-0")
	}},
	{"fell-lately", verdictSoon, func(s *situation) {
		s.prefer("1-10-0")
		s.new.Record.Member.Fallen, s.new.Record.Acquired = 1, before(10*time.Second)
	}},
	{"fell-and-outranked", verdictRight, func(s *situation) {
		s.prefer("1-9-0")
		s.new.Record.Member.Fallen, s.new.Record.Acquired = 1, before(10*time.Second)
	}},
	{"dead-holder", verdictSoon, func(s *situation) {
		s.old.Record.Holder, s.old.Record.Mark.Identity = "", "" // its parent ended its session
	}},
	{"dead-holder-onDeath-lease", verdictSoon, func(s *situation) {
		s.rules.onDeathLease = true
		r := s.old.Record
		r.Holder, r.Mark.Identity, r.Mark.Beat = "", "", 8
		r.Member.Proofs = []record.Proof{record.ProofParent}
		r.Member.Deaths = []record.Death{{Proof: record.ProofParent, Identity: oldZero, UID: s.old.Version.UID, Beat: 7, By: "parent of " + oldZero, How: "killed by SIGKILL", At: before(4 * time.Second)}}
	}},
	{"shared", verdictRight, func(s *situation) {
		s.foreign("kube-scheduler", time.Second)
		s.rules.sharedWith = config.SharedWithClientGo
	}},
	{"foreign-silent", verdictSoon, func(s *situation) { s.foreign("kube-scheduler", 16*time.Second) }},
	{"foreign-outranked", verdictSoon, func(s *situation) {
		s.foreign("kube-scheduler", time.Second)
		s.prefer("1-10-0")
	}},
	{"pinned-member-absent", verdictStuck, func(s *situation) {
		s.plan.Pins = []rollout.Pin{{Election: "dns", Member: "ghost", By: "eve"}}
		s.agree()
	}},
	{"drained", verdictStuck, func(s *situation) {
		s.drain("new-0")
		s.prefer("1-10-0")
	}},
	{"two-drained", verdictStuck, func(s *situation) {
		s.more = []lock.Entry{memberSession("new-1_00000003", "1-10-0")}
		s.drain("new-0", "new-1")
		s.prefer("1-10-0")
	}},
	{"drained-holder", verdictSoon, func(s *situation) {
		s.drain("old-0")
		s.prefer("1-9-0")
	}},
	{"all-drained", verdictStuck, func(s *situation) {
		s.drain("old-0", "new-0")
		s.prefer("1-9-0")
	}},
	{"paused", verdictStuck, func(s *situation) {
		s.plan.Standstill = &rollout.Standstill{By: "eve", At: rollout.At(before(time.Hour))}
		s.prefer("1-10-0")
	}},
	{"paused-for-a-while", verdictSoon, func(s *situation) {
		s.plan.Standstill = &rollout.Standstill{By: "eve", At: rollout.At(before(time.Hour)), Until: rollout.At(explainedAt.Add(time.Hour))}
		s.drain("old-0")
		s.prefer("1-9-0")
	}},
	{"paused-and-right", verdictRight, func(s *situation) {
		s.plan.Standstill = &rollout.Standstill{By: "eve", At: rollout.At(before(time.Hour))}
		s.agree()
	}},
	{"paused-without-takeovers", verdictRight, func(s *situation) {
		s.standWithoutTakeovers()
		s.agree()
	}},
	{"withheld", verdictSoon, func(s *situation) {
		s.standWithoutTakeovers()
		s.lock.Record.Holder, s.lock.Record.Mark.Identity = "", ""
		s.agree()
	}},
	{"handed-over", verdictSoon, func(s *situation) {
		s.plan.Handovers = []rollout.Handover{{Election: "dns", To: "new-0", By: "eve", Until: rollout.At(explainedAt.Add(time.Minute))}}
		s.agree()
	}},
	{"nobody-sees", verdictStuck, func(s *situation) { s.byDefault = record.Preferred{State: record.PreferredNotSynced} }},
	{"without-config", verdictSoon, func(s *situation) {
		s.rules = rulebook{}.rules("dns")
		s.prefer("1-10-0")
	}},
	{"nobody-lives", verdictStuck, func(s *situation) {
		s.lock.Record.Holder, s.lock.Record.Mark.Identity = "", ""
		s.old.Record.Renewed, s.new.Record.Renewed = before(time.Minute), before(time.Minute)
		s.byDefault = record.Preferred{State: record.PreferredNotSynced} // as nobody lives who sees it
	}},
	{"free-and-nobody-sees", verdictSoon, func(s *situation) {
		s.lock.Record.Holder, s.lock.Record.Mark.Identity = "", ""
		s.byDefault = record.Preferred{State: record.PreferredNotSynced}
	}},
}

// TestExplain compares what people read in each situation with testdata/explain.
func TestExplain(t *testing.T) {
	for _, tt := range situations {
		t.Run(tt.name, func(t *testing.T) {
			s := usual()
			tt.change(s)
			e := s.explain(t)
			if e.Verdict != tt.verdict {
				t.Errorf("the verdict is %s, want %s", e.Verdict, tt.verdict)
			}
			text := e.text()
			if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
				t.Errorf("what a stranger wrote reaches the terminal: %q", text)
			}
			path := filepath.Join("testdata", "explain", tt.name+".txt")
			if *updateExplained {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if text != string(want) {
				t.Errorf("%s differs (-update-explained writes it anew):\n%s", path, text)
			}
		})
	}
}

// TestExplainAgreesWithPreviews checks, in each situation, that the explanation names the members that a preview of
// "the same preference again" names.
func TestExplainAgreesWithPreviews(t *testing.T) {
	for _, tt := range situations {
		s := usual()
		tt.change(s)
		e := s.explain(t)
		if e.State != status.Led || e.Verdict != verdictSoon || e.Members[0].State != status.Live {
			continue
		}
		r := status.Of(status.Selection{Group: "edge"}, []lock.Entry{s.lock, s.old, s.new}, explainedAt)
		is := s.plan.Preferred("dns", s.byDefault)
		if m := moved(r, r.Elections[0], is, is, s.rules); !m.Stays && !slices.Equal(m.Candidates, e.Should) {
			t.Errorf("%s: %v should lead, and previews say %v", tt.name, e.Should, m.Candidates)
		}
	}
}

// TestExplainForPrograms checks the documents, and the exit statuses.
func TestExplainForPrograms(t *testing.T) {
	for v, want := range map[verdict]int{verdictRight: 0, verdictSoon: exitTimeout, verdictStuck: exitNever} {
		err := explanation{Verdict: v}.exit()
		got := 0
		if exit, is := err.(*exitError); is {
			got = exit.status
		}
		if got != want {
			t.Errorf("%s ends with status %d (%v)", v, got, err)
		}
	}
	s := usual()
	s.prefer("2-0-0")
	e := s.explain(t)
	text, err := yaml.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var again explanation
	if err := yaml.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(e)
	b, _ := json.Marshal(again)
	if string(a) != string(b) || !strings.Contains(string(text), "verdict: Stuck") {
		t.Errorf("got %s", text)
	}
}
