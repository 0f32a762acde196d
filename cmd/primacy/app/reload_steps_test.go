package app

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestStepsOfAMoveInAHurry moves an election to another lock in several steps. The test checks that work
// never overlaps if each step begins after every member has logged that the step before is in force, however
// slowly work stops. If a step begins when members have merely read their files, the journal must show overlaps.
func TestStepsOfAMoveInAHurry(t *testing.T) {
	hurried := 0 // overlaps if steps do not wait
	for trial := range 10 {
		waits := trial%2 == 0
		synctest.Test(t, func(t *testing.T) {
			b := newBubble(t)
			step := func(lock string) string {
				return fmt.Sprintf("group: g\nelections:\n- {name: a, lock: %s, runners: [{name: w, work: {stop: 4s}}]}\n", lock)
			}
			m1, m2 := b.start("m1", step("{kind: ConfigMap}")), b.start("m2", step("{kind: ConfigMap}"))
			wait(time.Minute)
			toLease, toMap := "{kind: Lease, migrateFrom: {kind: ConfigMap}}", "{kind: ConfigMap, migrateFrom: {kind: Lease}}"
			for _, lock := range []string{toLease, "{kind: Lease}", toMap, "{kind: ConfigMap}"} { // both locks exist from here on
				for _, m := range []*follower{m1, m2} {
					if err := m.reload(step(lock)); err != nil {
						t.Error(err)
					}
				}
				wait(time.Minute)
			}
			for _, lock := range []string{toLease, "{kind: Lease}"} {
				var logs []*observer.ObservedLogs
				for _, m := range []*follower{m1, m2} {
					core, seen := observer.New(zap.InfoLevel)
					m.reloads.log = zap.New(core)
					logs = append(logs, seen)
					if err := m.reload(step(lock)); err != nil {
						t.Error(err)
					}
				}
				for _, seen := range logs {
					for n := 0; waits && seen.FilterMessage("configuration changed").Len() == 0; n++ {
						if n == 1000 {
							t.Fatal("the change is never logged")
						}
						wait(10 * time.Millisecond)
					}
				}
			}
			wait(time.Minute)
			if led := leaders(m1, m2)["a"]; len(led) != 1 {
				t.Errorf("led by %v", led)
			}
			if !waits {
				hurried += len(b.journal.overlaps())
				b.journal.work = map[string][]*stretch{}
			}
			b.end(m1, m2)
		})
	}
	if hurried == 0 {
		t.Error("two are never at work at once of those who do not wait: this shows nothing")
	}
}
