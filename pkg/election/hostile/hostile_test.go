package hostile_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"sync"
	"testing"
)

// only matches the names of the acts to try; HOSTILE_ACTS limits a run to a few of them.
var only = regexp.MustCompile(os.Getenv("HOSTILE_ACTS"))

// trialsOf are the trials of one situation.
func trialsOf(s situation) (trials []*trial) {
	for i, a := range acts() {
		if i%oneIn != 0 {
			continue
		}
		for _, k := range []kind{inLease, inConfigMap} {
			if only.MatchString(a.name) && slices.Contains(a.on, s) && (len(a.kinds) == 0 || slices.Contains(a.kinds, k)) {
				trials = append(trials, &trial{act: a, kind: k, during: s})
			}
		}
	}
	return trials
}

// each does something for all trials at once.
func each(t *testing.T, trials []*trial, do func(ctx context.Context, tr *trial) error) {
	t.Helper()
	var wg sync.WaitGroup
	for _, tr := range trials {
		wg.Go(func() {
			if err := do(t.Context(), tr); err != nil {
				t.Errorf("%v: %v", tr, err)
			}
		})
	}
	wg.Wait()
}

// play commits the trial's act and waits until its election is led.
func play(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx); err != nil {
		return err
	}
	if tr.act.operator != nil {
		if err := tr.act.operator(ctx, tr); err != nil {
			return err
		}
	}
	return tr.settled(ctx)
}

// verdict judges all trials once their members have left.
func verdict(t *testing.T, title string, trials []*trial) {
	t.Helper()
	table := table{title: title}
	for _, tr := range trials {
		res, err := tr.result()
		if err != nil {
			t.Error(err)
		}
		table.rows = append(table.rows, res)
	}
	table.check(t)
}

// lead starts the member m1, which takes the lead in all elections, and then the others.
func (c *crew) lead(trials []*trial, others ...string) []*member {
	members := []*member{c.join("m1")}
	each(c.t, trials, func(ctx context.Context, tr *trial) error { return tr.led(ctx) })
	for _, name := range others {
		members = append(members, c.join(name))
	}
	for _, m := range members {
		if err := c.awaitSession(m.name); err != nil {
			c.t.Fatal(err)
		}
	}
	each(c.t, trials, func(ctx context.Context, tr *trial) (err error) {
		if tr.earlier, err = c.raw.get(ctx, tr.kind, tr.election); err != nil {
			return err
		}
		return tr.renewed(ctx, 2)
	})
	return members
}

// other is the identity of the member m2, which does not lead.
func (tr *trial) other() string {
	tr.crew.mu.Lock()
	defer tr.crew.mu.Unlock()
	return tr.crew.live["m2"].Holder
}

// TestActsOnALockThatIsLed tries the acts on locks whose holder leads.
func TestActsOnALockThatIsLed(t *testing.T) {
	t.Parallel()
	trials := trialsOf(led)
	c := newCrew(t, trials)
	members := c.lead(trials, "m2")
	each(t, trials, play)
	for _, m := range members {
		m.leave(t)
	}
	verdict(t, "A lock that is led", trials)
}

// TestActsOnALockOfTheDead tries the acts on locks whose holder has just been cut off, so that it seems dead.
func TestActsOnALockOfTheDead(t *testing.T) {
	t.Parallel()
	trials := trialsOf(killed)
	c := newCrew(t, trials)
	members := c.lead(trials, "m2")
	died := c.clock.Now()
	members[0].wire.cut()
	each(t, trials, play)
	for _, tr := range trials {
		tr.at = died
	}
	for _, m := range members {
		m.leave(t)
	}
	verdict(t, "A lock whose holder has just died", trials)
}

// TestActsOnAFreeLock tries the acts on locks that nobody holds, before the next members start.
func TestActsOnAFreeLock(t *testing.T) {
	t.Parallel()
	trials := trialsOf(free)
	c := newCrew(t, trials)
	each(t, trials, func(ctx context.Context, tr *trial) error { return tr.commit(ctx) })
	joined := c.clock.Now()
	for _, tr := range trials {
		tr.at = joined
	}
	members := []*member{c.join("m1"), c.join("m2")}
	each(t, trials, func(ctx context.Context, tr *trial) error { return tr.settled(ctx) })
	for _, m := range members {
		m.leave(t)
	}
	verdict(t, "A lock that nobody holds", trials)
}
