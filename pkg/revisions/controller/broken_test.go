package controller_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// edit changes the plan's ConfigMap, as a person with kubectl would.
func (c *crowd) edit(change func(map[string]string)) {
	c.Helper()
	cm, err := c.maps.Get(c.Context(), rollout.ObjectName(groupName), metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	change(cm.Data)
	if _, err := c.maps.Update(c.Context(), cm, metav1.UpdateOptions{}); err != nil {
		c.Fatal(err)
	}
}

func (c *crowd) stored() *corev1.ConfigMap {
	c.Helper()
	cm, err := c.maps.Get(c.Context(), rollout.ObjectName(groupName), metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return cm
}

const unreadable = "- {election: web, revison: red}\n"

// TestDocumentsThatBreak checks that, whichever part of the plan becomes unreadable, and whenever, no
// election moves back because of it, and the text stays for the person who corrects it. Once the text
// is corrected, the rollout completes.
func TestDocumentsThatBreak(t *testing.T) {
	for name, key := range map[string]string{"pins": rollout.KeyPins, "rollout": rollout.KeyRollout, "status": rollout.KeyStatus, "history": rollout.KeyHistory} {
		for state, until := range map[string]func(*crowd){
			"moving": func(c *crowd) {},
			"paused": func(c *crowd) { c.phase(5*time.Minute, rollout.Paused) },
			"late": func(c *crowd) {
				c.phase(5*time.Minute, rollout.Paused)
				c.say(rollout.Plan.PromoteStep)
				after(time.Second)
			},
		} {
			for how, what := range map[string]string{"broken": unreadable, "emptied": ""} {
				t.Run(name+" "+how+" while "+state, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						pinned := mixed{name: "pinned"}
						c := newCrowd(t, mixed{name: "a", follows: true}, mixed{name: "b", follows: true}, mixed{name: "minhold.c", bend: bendOf("minhold"), follows: true}, pinned)
						c.join(100, "red-1", "red-2")
						after(settled)
						c.join(100, "green-1")
						after(time.Minute)
						c.say(func(p rollout.Plan) (rollout.Plan, error) {
							return p.PinTo(rollout.Pin{Election: "pinned", Revision: "red"})
						})
						c.start(weigh(50), untilPromoted, weigh(100))
						until(c)
						before := c.stored().Data[key]
						c.edit(func(data map[string]string) { data[key] = what })
						after(10 * time.Minute)
						if p := c.plan(); p.Phase() == rollout.RolledBack || p.Status.Of(p.Rollout) && len(p.Status.Failures) > 0 {
							t.Errorf("%s: %+v", p.Phase(), p.Status)
						}
						if got := c.stored().Data[key]; got != what && key != rollout.KeyStatus {
							t.Errorf("the text of %s was written over:\n%s", key, got)
						}
						if led := c.led()["pinned"]; led != "red" {
							t.Errorf("the pinned election is led by %q", led)
						}
						if key != rollout.KeyStatus {
							c.edit(func(data map[string]string) {
								if data[key] = before; before == "" {
									delete(data, key)
								}
							})
							after(time.Minute)
						}
						switch c.plan().Phase() {
						case rollout.Pending: // no controller ever knew the status
							c.say(rollout.Plan.Retry)
							c.phase(5*time.Minute, rollout.Paused)
							fallthrough
						case rollout.Paused:
							c.say(rollout.Plan.PromoteStep)
						}
						c.phase(30*time.Minute, rollout.Complete)
						c.want("green")
					})
				})
			}
		}
	}
}
