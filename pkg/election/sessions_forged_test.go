package election_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestForgedMarks has a stranger edit one word of a lock's annotation. It checks that no two members work
// at once, and that the lock is led again.
func TestForgedMarks(t *testing.T) {
	sub := func(from, to string) func(*memory.Realm) {
		return func(r *memory.Realm) {
			r.Edit("a", func(o *codec.Object) {
				was := o.Annotations[codec.HolderAnnotation]
				o.Annotations[codec.HolderAnnotation] = strings.Replace(was, from, to, 1)
				if was == o.Annotations[codec.HolderAnnotation] {
					panic(was)
				}
			})
		}
	}
	for name, edit := range map[string]func(*memory.Realm){
		"renewal": sub(`"renewal":"session"`, `"renewal":"record"`),
		"uid":     sub(`"sessionUID":"`, `"sessionUID":"x`),
		"session": sub(`"session":"`, `"session":"x`),
		"beat":    sub(`"beat":`, `"beat":9`),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a", "b")
				g.stop = time.Second
				m1 := g.join("m1", "stable", stable)
				after(30 * time.Second)
				m2 := g.join("m2", "stable", stable)
				after(40 * time.Second)
				g.wantLeader("a", m1, m1, m2)
				edit(g.realm)
				after(5 * time.Minute)
				if len(leaders(m1, m2)["a"]) != 1 {
					t.Error("no leader")
				}
				g.end(m1, m2)
			})
		})
	}
}

// TestCopyOfALock checks that a copy of a lock under another name, without its labels, does not concern
// its holder.
func TestCopyOfALock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		was := m1.status["a"].Leader().Identity
		raw, _ := g.realm.Raw("a")
		g.realm.Edit("a-backup", func(o *codec.Object) { o.Fields = raw.Fields; o.Annotations = raw.Annotations })
		after(time.Second)
		after(40 * time.Second)
		if now := m1.status["a"].Leader().Identity; now != was {
			t.Errorf("was %s, is %s", was, now)
		}
		m1.leave(t)
	})
}

// TestForgedRenewal has a stranger edit the renewal in the annotation, while the holder is slow to repair
// it. It checks that others rely on the renewal that the holder wrote with its beat.
func TestForgedRenewal(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		g.stop = time.Second
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(40 * time.Second)
		m1.store.On(memory.Put, memory.Delay(50*time.Millisecond))
		g.realm.Edit("a", func(o *codec.Object) {
			o.Annotations[codec.HolderAnnotation] = strings.Replace(o.Annotations[codec.HolderAnnotation], `"renewal":"session"`, `"renewal":"record"`, 1)
		})
		after(time.Minute)
		g.end(m1, m2)
	})
}

// TestSessionBlankedAndMended has a stranger blank a session and put it back while its owner sees
// nothing. Another member sees only the blanking. It may take what the session renews no sooner than it
// has seen the rest.
func TestSessionBlankedAndMended(t *testing.T) {
	for name, settings := range map[string]record.Renewal{"mixed": record.RenewalRecord, "session": record.RenewalSession} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a", "b")
				g.stop = time.Second
				g.renewal = func(m, _ string) record.Renewal {
					if m == "m2" {
						return settings
					}
					return record.RenewalSession
				}
				m1 := g.join("m1", "stable", stable)
				after(30 * time.Second)
				m2 := g.join("m2", "stable", stable)
				after(10 * time.Second)
				mend1 := shut(m1.store, memory.Watch, memory.List, memory.Get, memory.Put)
				was := ""
				g.realm.Edit(slot("m1"), func(o *codec.Object) { was = o.Fields.Holder; o.Fields.Holder = "" })
				after(8200 * time.Millisecond)
				mend2 := shut(m2.store, memory.Watch, memory.List)
				synctest.Wait()
				g.realm.Edit(slot("m1"), func(o *codec.Object) { o.Fields.Holder = was })
				g.realm.Compact()
				mend1()
				after(12 * time.Second)
				mend2()
				after(10 * time.Second)
				g.end(m1, m2)
			})
		})
	}
}

// TestStreamThatIsCutAgainAndAgain checks that however often the stream is cut, others end a dead
// member's session.
func TestStreamThatIsCutAgainAndAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(10 * time.Second)
		hangAll(m1.store)
		m1.store.CutWatches()
		for range 60 {
			after(5 * time.Second)
			m2.store.CutWatches()
		}
		g.wantLeader("a", m2, m1, m2)
		m1.store.Heal()
		m1.leave(t)
		m2.leave(t)
	})
}

// TestNothingIsTakenFromAnOldView checks that a member that comes back to find that everything has moved
// writes nothing.
func TestNothingIsTakenFromAnOldView(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, many(200)...)
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "stable", stable)
		m3 := g.join("m3", "stable", stable)
		after(10 * time.Second)
		mend := shut(m3.store, memory.Watch, memory.List)
		m1.leave(t)
		after(6 * time.Second)
		g.realm.Compact()
		p := countPuts(m3.store, 0)
		mend()
		after(5 * time.Second)
		if n := p.to("e"); n > 0 {
			t.Errorf("%d writes to locks that are all held", n)
		}
		m2.leave(t)
		m3.leave(t)
	})
}

// shut blocks the operations until they are mended.
func shut(s *memory.Store, ops ...memory.Op) (mend func()) {
	mended := make(chan struct{})
	for _, op := range ops {
		s.On(op, func(ctx context.Context, _ memory.Call, op func() error) error {
			select {
			case <-mended:
				return op()
			case <-ctx.Done():
				return fmt.Errorf("%w: %w", lock.ErrUnknown, ctx.Err())
			}
		})
	}
	s.CutWatches()
	return func() { close(mended) }
}
