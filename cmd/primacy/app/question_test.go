package app

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// slow is a person who says yes to a question after something else has happened.
type slow struct {
	io.Reader
	meanwhile func()
}

func (s slow) Read(b []byte) (int, error) {
	s.meanwhile()
	return s.Reader.Read(b)
}

// saysYes is a terminal with such a person.
func saysYes(meanwhile func()) *confirmation {
	return &confirmation{ask: true, in: slow{strings.NewReader("y\n"), meanwhile}, out: io.Discard}
}

// newTwo is a group with a member of revision a, the default, and one of b.
func newTwo(t *testing.T) *previewed {
	const document = "group: edge\ndefaultRevision: {configMap: {name: revisions, key: default}}\ntiming: {profile: fast}\n" +
		"elections: [{name: one, bootstrap: immediate, runners: [{name: w, work: {}}]}]\n"
	p := newPreviewed(t, "a")
	t.Cleanup(func() { p.end(p.members...) })
	p.join("old", document, "a")
	p.join("new", document, "b")
	return p
}

// say stores a word to a rollout that nobody was asked about.
func (p *previewed) say(word func(rollout.Plan) (rollout.Plan, error)) {
	p.t.Helper()
	if err := steering.Edit(p.t.Context(), p.configMaps, "edge", func(plan *rollout.Plan) (err error) {
		*plan, err = word(*plan)
		return err
	}); err != nil {
		p.t.Fatal(err)
	}
}

// from is a rollout that waits at once.
func from(uid, stable, canary string) rollout.Spec {
	return rollout.Spec{UID: uid, Stable: stable, Canary: canary, Steps: []rollout.Step{{Pause: &rollout.Pause{}}, {SetWeight: 100}}, AcquireTimeout: time.Minute}
}

// TestEndLooksAgainAfterTheAnswer checks that no rollout is ended if its canary became the default while the question was open.
func TestEndLooksAgainAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTwo(t)
		p.say(func(plan rollout.Plan) (rollout.Plan, error) {
			return plan.Start(from("0123456789abcdef", "a", "b"), time.Now())
		})
		wait(10 * time.Second)
		p.word("abort")
		wait(10 * time.Second)
		var out bytes.Buffer
		err := (&rolloutCommand{p.command(&out)}).obey(t.Context(), theWord("end"), saysYes(func() {
			setRevision(p, "b")(p.report())
			wait(10 * time.Second)
		}), false)
		if err == nil || !strings.Contains(err.Error(), "sees b as the default revision") || p.plan().Phase() != rollout.Aborted {
			t.Errorf("got %v; the rollout is %s", err, p.plan().Phase())
		}
	})
}

// TestStartLooksAgainAfterTheAnswer checks that no rollout is started if another one began or ended while the question was open.
func TestStartLooksAgainAfterTheAnswer(t *testing.T) {
	const first, second = "0123456789abcdef", "fedcba9876543210"
	for what, tt := range map[string]struct {
		before, meanwhile func(*previewed)
		want              string
	}{
		"one began": {func(*previewed) {}, func(p *previewed) {
			p.say(func(plan rollout.Plan) (rollout.Plan, error) { return plan.Start(from(first, "a", "c"), time.Now()) })
			p.say(rollout.Plan.Abort)
		}, "cannot start a rollout: another rollout has begun meanwhile: it is Aborted now (look again: primacy rollout status)"},
		"one ended": {func(p *previewed) {
			p.say(func(plan rollout.Plan) (rollout.Plan, error) { return plan.Start(from(second, "a", "c"), time.Now()) })
			p.say(rollout.Plan.Abort)
		}, func(p *previewed) {
			p.say(func(plan rollout.Plan) (rollout.Plan, error) { return plan.End(time.Now()) })
		}, "cannot start a rollout: the rollout has ended meanwhile (look again: primacy rollout status)"},
		"nothing": {func(*previewed) {}, func(*previewed) {}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newTwo(t)
				tt.before(p)
				wait(10 * time.Second)
				spec := rollout.Spec{Stable: "a", Canary: "b", Steps: []rollout.Step{{SetWeight: 100}}}
				var out bytes.Buffer
				err := (&rolloutCommand{p.command(&out)}).start(t.Context(), starting{spec: spec, format: outputText, confirm: saysYes(func() { tt.meanwhile(p) })})
				if message(err) != tt.want {
					t.Errorf("got %v, want %q", err, tt.want)
				}
			})
		})
	}
}

// TestResumeEndsThePauseThatItShowed checks that `primacy resume` leaves a pause alone that began while the question was open.
func TestResumeEndsThePauseThatItShowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newStoring(t)
		var out bytes.Buffer
		s := x.command(&out)
		s.realm = status.Realm{Leases: memory.New(clocktest.Bubble{}).Store()}
		s.ways.confirm = saysYes(func() {
			time.Sleep(time.Minute)
			if err := x.command(&out).edit(t.Context(), func(p rollout.Plan) (rollout.Plan, error) {
				return p.Stand(rollout.Standstill{At: rollout.At(time.Now()), By: "another"})
			}); err != nil {
				t.Error(err)
			}
		})
		s.report.Elections[0].Holder, s.report.Elections[0].Revision = "new_00000001", "b" // it moves once the group is resumed
		err := s.resume(t.Context())
		if err == nil || !strings.Contains(err.Error(), "cannot resume: another pause has begun meanwhile") {
			t.Errorf("got %v", err)
		}
		if now := x.stored().Standstill; now == nil || now.By != "another" {
			t.Errorf("there is %+v", now)
		}
	})
}
