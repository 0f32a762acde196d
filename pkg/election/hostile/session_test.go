package hostile_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
)

// sessionAct is something that a stranger does to the session of the member that leads.
type sessionAct struct {
	name string
	// dead: the member is killed just before.
	dead bool
	do   func(ctx context.Context, c *crew, session string) error
}

// onSession is an act that changes the session's object.
func onSession(name string, change func(object)) sessionAct {
	return sessionAct{name: name, do: func(ctx context.Context, c *crew, session string) error {
		return c.raw.edit(ctx, inLease, session, change)
	}}
}

func (a sessionAct) killed() sessionAct {
	a.name, a.dead = a.name+", its member killed", true
	return a
}

func sessionActs() []sessionAct {
	blank := onSession("blanked", func(o object) { o.holder("") })
	removed := sessionAct{name: "deleted", do: func(ctx context.Context, c *crew, session string) error {
		return c.raw.delete(ctx, inLease, session)
	}}
	recreated := sessionAct{name: "deleted and recreated as it was", do: func(ctx context.Context, c *crew, session string) error {
		o, err := c.raw.get(ctx, inLease, session)
		if err != nil {
			return err
		}
		return c.recreate(ctx, session, recreated(o))
	}}
	edited := func(key, field string, value any) func(object) {
		return func(o object) { o.annotateJSON(key, func(m map[string]any) { m[field] = value }) }
	}
	return []sessionAct{
		blank, blank.killed(), removed, removed.killed(), recreated, recreated.killed(),
		onSession("blanked in both: a forged end", func(o object) {
			o.holder("")
			edited(codec.HolderAnnotation, "identity", "")(o)
		}),
		onSession("duration 1", edited(codec.HolderAnnotation, "durationSeconds", 1)),
		onSession("duration 1", edited(codec.HolderAnnotation, "durationSeconds", 1)).killed(),
		onSession("duration of 12 days", edited(codec.HolderAnnotation, "durationSeconds", 1<<20)).killed(),
		onSession("`primacy.dev/holder` broken", func(o object) { o.annotate(codec.HolderAnnotation, broken) }),
		onSession("`primacy.dev/member` broken", func(o object) { o.annotate(codec.MemberAnnotation, broken) }),
		onSession("`primacy.dev/member` removed", func(o object) { delete(o.meta().Annotations, codec.MemberAnnotation) }),
		onSession("`primacy.dev/member` names another", edited(codec.MemberAnnotation, "identity", nobody)),
		onSession("`primacy.dev/beat` 2^62", func(o object) { o.annotate(codec.BeatAnnotation, fmt.Sprint(1<<62)) }),
		onSession("`primacy.dev/beat` 2^62", func(o object) { o.annotate(codec.BeatAnnotation, fmt.Sprint(1<<62)) }).killed(),
		onSession("holder a foreign name", func(o object) { o.holder(stranger) }),
		onSession("holder of 1 MiB", func(o object) { o.holder(strings.Repeat("x", long)) }),
		onSession("all labels removed", func(o object) { o.meta().Labels = nil }),
	}
}

// recreate deletes a session and creates it again, unless a member is faster.
func (c *crew) recreate(ctx context.Context, session string, o object) error {
	if err := c.raw.delete(ctx, inLease, session); err != nil {
		return err
	}
	if err := c.raw.create(ctx, inLease, o); err != nil && !exists(err) {
		return err
	}
	return nil
}

// TestActsOnASession tries acts on the session of the member that leads, and records what becomes
// of two elections: one in a Lease and one in a ConfigMap.
func TestActsOnASession(t *testing.T) {
	t.Parallel()
	var all []*trial
	t.Run("acts", func(t *testing.T) {
		for i, a := range sessionActs() {
			if i%oneIn != 0 || !only.MatchString(a.name) {
				continue
			}
			trials := []*trial{{kind: inLease}, {kind: inConfigMap}}
			for _, tr := range trials {
				tr.act = act{name: a.name, do: func(context.Context, *trial) error { return nil }}
			}
			all = append(all, trials...)
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				a.play(t, trials)
			})
		}
	})
	verdict(t, "The session of the member that leads", all)
}

func (a sessionAct) play(t *testing.T, trials []*trial) {
	c := newCrew(t, trials)
	members := c.lead(trials, "m2")
	each(t, trials, func(ctx context.Context, tr *trial) error { return tr.commit(ctx) })
	if a.dead {
		members[0].wire.cut()
	}
	if err := a.do(t.Context(), c, "primacy-"+group+"-m1-0"); err != nil {
		t.Fatal(err)
	}
	each(t, trials, func(ctx context.Context, tr *trial) error { return tr.settled(ctx) })
	for _, m := range members {
		m.leave(t)
	}
}
