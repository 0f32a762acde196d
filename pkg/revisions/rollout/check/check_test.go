package check_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check/all"
)

var start = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// healthy is a rollout in which "web" is in reach and led by the canary, and "db" is not in
// reach.
func healthy() check.Sight {
	spec := rollout.Spec{
		UID: "00c0ffee00c0ffee", Generation: 1, Stable: "red", Canary: "green", StartedAt: rollout.At(start),
		Steps: []rollout.Step{{SetWeight: 100}}, AcquireTimeout: time.Minute,
	}.WithDefaults()
	return check.Sight{
		Spec: spec,
		Status: rollout.Status{
			UID: spec.UID, Stable: "red", Canary: "green", Phase: rollout.Progressing, Step: 1,
			Began: rollout.At(start), Reach: rollout.Reach{Names: []string{"web"}},
		},
		Seen: rollout.Seen{
			Elections: []rollout.Election{
				{Name: "web", Holder: "g_00000001", Revision: "green", Canary: "g_00000001"},
				{Name: "db", Holder: "r_00000001", Revision: "red", Canary: "g_00000001"},
			},
			Members: []rollout.Member{
				{Identity: "g_00000001", Revision: "green", Ready: true, Duration: 15 * time.Second},
				{Identity: "r_00000001", Revision: "red", Ready: true, Duration: 15 * time.Second},
			},
		},
		Now: at(600),
	}
}

// TestChecks shows to each check trouble that it must find, and cases that only look like trouble.
func TestChecks(t *testing.T) {
	web := func(s *check.Sight) *rollout.Election { return &s.Seen.Elections[0] }
	db := func(s *check.Sight) *rollout.Election { return &s.Seen.Elections[1] }
	green := func(s *check.Sight) *rollout.Member { return &s.Seen.Members[0] }
	red := func(s *check.Sight) *rollout.Member { return &s.Seen.Members[1] }
	away := func(s *check.Sight) {
		web(s).Holder, web(s).Revision = "r_00000001", "red"
		s.Status.Moving = []rollout.Moving{{Election: "web", Since: rollout.At(at(540))}}
	}
	lost := func(e *rollout.Election, seconds ...int) {
		for _, s := range seconds {
			e.Lost = append(e.Lost, at(s))
		}
	}
	heard := func(m *rollout.Member, ago ...float64) {
		m.Heard = nil
		for _, s := range ago {
			m.Heard = append(m.Heard, time.Duration(s*float64(time.Second)))
		}
	}
	failed := func(e *rollout.Election, m *rollout.Member) { e.Failed = append(e.Failed, m.Identity) }
	for _, tt := range []struct {
		name   string
		change func(*check.Sight)
		want   string // check, election, member: what; empty for nothing
	}{
		{"all is well", func(s *check.Sight) {}, ""},

		{"not acquired", away, "acquired, web: not acquired within 1m0s although g_00000001 is ready: r_00000001 leads on"},
		{"nobody leads", func(s *check.Sight) { away(s); web(s).Holder, web(s).Revision = "", "" }, "acquired, web: not acquired within 1m0s although g_00000001 is ready: nobody leads"},
		{"not acquired yet", func(s *check.Sight) { away(s); s.Now = at(600).Add(-time.Millisecond) }, ""},
		{"acquired since", func(s *check.Sight) { away(s); web(s).Revision = "green" }, ""},
		{"nobody is there to acquire", func(s *check.Sight) { away(s); web(s).Canary = "" }, ""},
		{"pinned since", func(s *check.Sight) { away(s); web(s).Pinned = true }, ""},

		{"runners fail", func(s *check.Sight) { failed(db(s), green(s)); failed(web(s), green(s)) }, "runners, web, g_00000001: its runners failed"},
		{"runners fail where stable leads", func(s *check.Sight) { failed(db(s), green(s)) }, ""},
		{"runners of stable fail", func(s *check.Sight) { failed(web(s), red(s)) }, ""},

		{"lost again", func(s *check.Sight) { lost(web(s), 301, 600) }, "flaps, web: lost by the canary 2 times within 5m0s"},
		{"lost once", func(s *check.Sight) { lost(web(s), 301) }, ""},
		{"lost again where stable leads", func(s *check.Sight) { lost(db(s), 301, 400, 600) }, ""},
		{"lost long ago", func(s *check.Sight) { lost(web(s), 300, 600) }, ""},
		{"lost before the rollout", func(s *check.Sight) { s.Now = at(60); lost(web(s), -1, 0, 40) }, ""},
		{"lost in the future", func(s *check.Sight) { lost(web(s), 500, 601) }, ""},

		{"renewals fail", func(s *check.Sight) { heard(green(s), 7.6); heard(red(s), 3, 6, 9) }, "renewals, g_00000001: no renewal seen for 7.6s, more than half of 15s"},
		{"a renewal is late", func(s *check.Sight) { heard(green(s), 7.5); heard(red(s), 3, 6, 9) }, ""},
		{"renewals of stable fail", func(s *check.Sight) { heard(red(s), 10); heard(green(s), 3, 6, 9) }, ""},
		{"nobody is heard of", func(s *check.Sight) { heard(green(s), 10); heard(red(s), 10) }, ""},
		{"all are heard of late", func(s *check.Sight) { heard(green(s), 7.6); heard(red(s), 0, 7) }, ""},
		{"stable was silent since before", func(s *check.Sight) { heard(green(s), 7.6); heard(red(s), 2, 5, 9.1) }, ""},
		{"stable has just come", func(s *check.Sight) { heard(green(s), 7.6); heard(red(s), 1, 3) }, ""},
		{"most are heard of", func(s *check.Sight) {
			heard(green(s), 7.6)
			heard(red(s), 7)
			for _, other := range []string{"r_00000002", "r_00000003"} {
				m := rollout.Member{Identity: other, Revision: "red", Duration: 15 * time.Second}
				heard(&m, 3, 6, 9)
				s.Seen.Members = append(s.Seen.Members, m)
			}
		}, "renewals, g_00000001: no renewal seen for 7.6s, more than half of 15s"},
		{"only the canary is heard of", func(s *check.Sight) {
			heard(green(s), 7.6)
			heard(red(s), 7)
			m := rollout.Member{Identity: "g_00000002", Revision: "green", Duration: 15 * time.Second}
			heard(&m, 3, 6, 9)
			s.Seen.Members = append(s.Seen.Members, m)
		}, ""},
		{"only the canary is left", func(s *check.Sight) {
			heard(green(s), 7.6)
			red(s).Revision = "green"
			heard(red(s), 3, 6, 9)
		}, "renewals, g_00000001: no renewal seen for 7.6s, more than half of 15s"},
		{"nobody else is left", func(s *check.Sight) { heard(green(s), 7.6); s.Seen.Members = s.Seen.Members[:1] }, ""},
		{"renewals of a member that leads nothing fail", func(s *check.Sight) { heard(green(s), 10); heard(red(s), 3, 6, 9, 12); web(s).Holder = "g_00000002" }, ""},

		{"another attempt", func(s *check.Sight) { away(s); s.Spec.Retry = 1 }, ""},
		{"only others are wanted", func(s *check.Sight) { away(s); s.Spec.Checks = []string{"flaps"} }, ""},
		{"none are wanted", func(s *check.Sight) { away(s); s.Spec.Checks = []string{"none"} }, ""},
		{"it is wanted", func(s *check.Sight) { failed(web(s), green(s)); s.Spec.Checks = []string{"runners"} }, "runners, web, g_00000001: its runners failed"},
		{"one is wanted that there is not", func(s *check.Sight) { s.Spec.Checks = []string{"luck"} }, "luck: this controller knows no such check"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := healthy()
			tt.change(&s)
			var got []string
			for _, f := range all.Registry().Find(s) {
				got = append(got, f.String())
				if !f.At.Equal(s.Now) {
					t.Errorf("found at %v", f.At)
				}
			}
			if strings.Join(got, "\n") != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRegistry(t *testing.T) {
	r := all.Registry()
	if got := r.Names(); !slices.Equal(got, []string{"acquired", "flaps", "renewals", "runners"}) {
		t.Errorf("checks %v", got)
	}
	if err := r.Validate(rollout.Spec{Checks: []string{"flaps", "none"}}); err != nil {
		t.Error(err)
	}
	const want = "checks[1]: there is no check \"runner\" (did you mean runners?)\nchecks[2]: there is no check \"luck\" (the checks are: acquired, flaps, renewals, runners)"
	if err := r.Validate(rollout.Spec{Checks: []string{"flaps", "runner", "luck"}}); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"", "none", "absent", "flaps"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is registered", name)
				}
			}()
			r.Register(named(name))
		}()
	}
}

type named string

func (n named) Name() string                     { return string(n) }
func (named) Find(check.Sight) []rollout.Failure { return nil }
