package election_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// These tests put the record of a member's last term back over that of the next member, which is cut off and works on. The judge of the
// group objects if anybody else is at work then.

// all are all operations of a store.
var all = []memory.Op{memory.Watch, memory.List, memory.Get, memory.Put}

// leadsSoon waits until m leads a.
func (m *member) leadsSoon(t *testing.T) {
	t.Helper()
	for range 300 {
		if len(leaders(m)["a"]) == 1 {
			return
		}
		after(100 * time.Millisecond)
	}
	t.Fatalf("%s does not lead", m.name)
}

// TestAReleaseIsNotRepeatedAfterAGap checks rule unknown-is-waited-out for a member that does not know whether its release was stored: what
// it reads is its own record, which a stranger put back. The stream of the member, and that of another one, have a gap.
func TestAReleaseIsNotRepeatedAfterAGap(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "stable", stable)
		m3 := g.join("m3", "stable", stable)
		after(30 * time.Second)
		g.wantLeader("a", m1, m1, m2, m3)
		was, _ := g.realm.Raw("a")
		id := g.realm.Read(slot("m2")).Record.Holder
		reads := []memory.Op{memory.Watch, memory.List, memory.Get}
		m1.store.On(memory.Put, memory.Lose())
		m1.store.On(memory.Get, memory.Hang())
		m1.store.On(memory.Deliver, func(ctx context.Context, c memory.Call, op func() error) error {
			if c.Name == "a" && c.Record != nil && c.Record.Holder == "" {
				<-ctx.Done() // the stream stalls before it shows the release
				return ctx.Err()
			}
			return op()
		})
		mend3 := shut(m3.store, reads...)
		g.realm.Edit("a", func(o *codec.Object) { o.Annotations[codec.HandoverAnnotation] = id })
		after(0) // m1 releases it, and gets no answer
		mend1 := shut(m1.store, reads...)
		after(time.Second)
		g.wantLeader("a", m2, m1, m2, m3)
		mend2 := shut(m2.store, all...)
		g.realm.Edit("a", func(o *codec.Object) { *o = was })
		g.realm.Compact()
		through := func(_ context.Context, _ memory.Call, op func() error) error { return op() }
		m1.store.On(memory.Deliver, through)
		m1.store.On(memory.Put, through)
		after(100 * time.Millisecond)
		mend1()
		after(4 * time.Second)
		mend3()
		after(time.Minute)
		mend2()
		after(time.Minute)
		g.end(m1, m2, m3)
	})
}

// TestALeaverReleasesNothingThatWasPutBack checks the same for a member that leaves while it is cut off.
func TestALeaverReleasesNothingThatWasPutBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(30 * time.Second)
		g.wantLeader("a", m1, m1, m2)
		mend1 := shut(m1.store, all...)
		was, _ := g.realm.Raw("a")
		after(8 * time.Second)
		m1.stop()
		m2.leadsSoon(t)
		after(200 * time.Millisecond)
		mend2 := shut(m2.store, all...)
		g.realm.Edit("a", func(o *codec.Object) { *o = was })
		g.realm.Compact()
		m3 := g.join("m3", "stable", stable)
		after(2 * time.Second)
		mend1()
		after(time.Minute)
		mend2()
		after(time.Minute)
		<-m1.done
		g.end(m2, m3)
	})
}

// TestALeaverOfManyLocksWaits checks that a member that leaves does not end its session instead of releasing many locks, while it knows of
// one of them that another member may be at work.
func TestALeaverOfManyLocksWaits(t *testing.T) {
	for range 20 { // whether its session would end in time is chance
		inBubble(t, leavesManyLocks)
	}
}

func leavesManyLocks(t *testing.T) {
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("e%d", i))
	}
	g := newGroup(t, names...)
	m1 := g.join("m1", "stable", stable)
	after(30 * time.Second)
	m2 := g.join("m2", "stable", stable)
	after(30 * time.Second)
	g.wantLeader("e0", m1, m1, m2)
	was, _ := g.realm.Raw("e0")
	id := g.realm.Read(slot("m2")).Record.Holder
	g.realm.Edit("e0", func(o *codec.Object) { o.Annotations[codec.HandoverAnnotation] = id })
	after(5 * time.Second)
	g.wantLeader("e0", m2, m1, m2)
	mend2 := shut(m2.store, all...)
	g.realm.Edit("e0", func(o *codec.Object) { *o = was })
	m3 := g.join("m3", "stable", stable)
	after(2 * time.Second)
	m1.stop()
	after(time.Minute)
	mend2()
	after(time.Minute)
	<-m1.done
	g.end(m2, m3)
}

// TestAnElectionIsAddedAgainAfterAGap checks rule unknown-is-waited-out for a member that gives an election up while it is cut off, and gets it
// again later.
func TestAnElectionIsAddedAgainAfterAGap(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(30 * time.Second)
		g.wantLeader("a", m1, m1, m2)
		mend1 := shut(m1.store, all...)
		was, _ := g.realm.Raw("a")
		if err := m1.manager.Apply(election.Change{Remove: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
		settled := m1.manager.Settled()
		m2.leadsSoon(t)
		mend2 := shut(m2.store, all...)
		g.realm.Edit("a", func(o *codec.Object) { *o = was })
		g.realm.Compact()
		<-settled
		mend1()
		after(500 * time.Millisecond)
		spec := election.Spec{Name: "a", Renewal: record.RenewalRecord}
		if err := m1.manager.Apply(election.Change{Put: []election.Entry{{Spec: spec, Runner: g.judge.runner("m1", 0)}}}); err != nil {
			t.Fatal(err)
		}
		after(time.Minute)
		mend2()
		after(time.Minute)
		g.end(m1, m2)
	})
}
