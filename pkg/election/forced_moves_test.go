package election_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// asking is the request to the holder of a's lock in a realm; false if nobody holds it.
func asking(r *memory.Realm, s lock.Store, to string) (f election.ForcedHandover, held bool) {
	now := r.Read("a").Record
	if now == nil || now.Holder == "" {
		return f, false
	}
	return election.ForcedHandover{Locks: s, Lock: "a", Holder: now.Holder, Token: now.Token, To: to}, true
}

// TestForced checks that a holder that sees another preference than all others gives way to a request, and that the
// election does not come back, whatever renews the lock.
func TestForced(t *testing.T) {
	for _, renewal := range []record.Renewal{record.RenewalSession, record.RenewalRecord} {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			g.renewal = func(string, string) record.Renewal { return renewal }
			g.stop = 300 * time.Millisecond
			m1 := g.join("m1", "stable", stable)
			after(40 * time.Second)
			m2 := g.join("m2", "canary", canary)
			after(3 * time.Minute)
			g.wantLeader("a", m1, m1, m2)
			session := g.realm.Read(slot("m2")).Record.Holder
			f, _ := asking(g.realm, g.realm.Store(), session)
			if _, err := f.Ask(aMinute(t)); err != nil {
				t.Fatal(err)
			}
			after(time.Second)
			g.wantLeader("a", m2, m1, m2)
			after(10 * time.Minute)
			g.wantLeader("a", m2, m1, m2)
			h := g.realm.Read("a").Record.History
			if why := h[len(h)-2].Why; why != "released: forced handover" {
				t.Errorf("the history says %q", why)
			}
			m1.leave(t)
			m2.leave(t)
			g.verdict(2)
		})
	}
}

// drains is a preference by which the member m2 is drained.
type drains struct{ election.Preference }

func (d drains) For(name string) record.Preferred {
	p := d.Preference.For(name)
	p.Drained = record.HostsOf("m2")
	return p
}

// TestForcedToADrained checks that a holder that sees a drain hands nothing over to the drained member.
func TestForcedToADrained(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		m1 := g.join("m1", "stable", drains{stable})
		after(40 * time.Second)
		m2 := g.join("m2", "stable", drains{stable})
		after(3 * time.Minute)
		f, _ := asking(g.realm, g.realm.Store(), g.realm.Read(slot("m2")).Record.Holder)
		if _, err := f.Ask(aMinute(t)); err != nil {
			t.Fatal(err)
		}
		after(time.Minute)
		g.wantLeader("a", m1, m1, m2)
		g.end(m1, m2)
		if n := g.judge.terms(); n > 2 { // the second one when m1 leaves
			t.Errorf("%d terms", n)
		}
	})
}

// TestForcedInAMigration checks that the lock that is taken first decides: a request in the other one alone moves nothing
// and stops no work, and both locks go to one member if both have it.
func TestForcedInAMigration(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g, m1, old := holdingBoth(t, 300*time.Millisecond)
		m2, _ := g.joinMoving("m2", "stable", both, old)
		m3, _ := g.joinMoving("m3", "stable", both, old)
		after(60 * time.Second)
		g.wantLeader("a", m1, m1, m2, m3)
		to := g.realm.Read(slot("m2")).Record.Holder
		inner, _ := asking(g.realm, g.realm.Store(), to)
		if _, err := inner.Ask(aMinute(t)); err != nil {
			t.Fatal(err)
		}
		after(60 * time.Second)
		g.wantLeader("a", m1, m1, m2, m3)
		if g.judge.terms() != 1 {
			t.Error("a request in the new lock alone stopped the work")
		}
		outer, _ := asking(old, old.Store(), to)
		if _, err := outer.Ask(aMinute(t)); err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		g.wantLeader("a", m2, m1, m2, m3)
		g.end(m1, m2, m3)
		if g.judge.terms() < 2 {
			t.Error("nothing moved")
		}
	})
}

// TestForcedInChaos makes requests of any term, to any member, while members come and go, see different preferences, and
// both stores of a migration fail in every way.
func TestForcedInChaos(t *testing.T) {
	forced := 0
	for seed := range uint64(30) {
		inBubble(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 49))
			g := newGroup(t, "a")
			g.stop = time.Duration(random.IntN(900)) * time.Millisecond
			if seed%3 == 0 {
				g.byRecord()
			}
			old := g.realm.Beside()
			kinds := map[string]moving{"m1": both, "m2": both, "m3": []moving{oldOnly, both, newOnly}[random.IntN(3)]}
			var members, gone []*member
			var stores []*memory.Store
			join := func(name string) *member {
				if seed%2 == 0 {
					m := g.join(name, "stable", stable)
					stores = append(stores, m.store)
					return m
				}
				m, oldStore := g.joinMoving(name, "stable", kinds[name], old)
				stores = append(stores, m.store, oldStore)
				return m
			}
			for _, name := range []string{"m1", "m2", "m3"} {
				members = append(members, join(name))
			}
			var last election.ForcedHandover
			for range 120 {
				after(time.Duration(random.IntN(3000)) * time.Millisecond)
				i := random.IntN(len(members))
				switch random.IntN(10) {
				case 0:
					members[i].prefs.values <- []record.Preferred{stable, canary}[random.IntN(2)]
				case 1:
					stores[random.IntN(len(stores))].CutWatches()
				case 2:
					members[i].stop()
					gone = append(gone, members[i])
					members[i] = join(members[i].name)
				case 3: // somebody asks an earlier term again
					if last.Locks != nil {
						ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
						_, _ = last.Ask(ctx)
						cancel()
					}
				case 4, 5, 6:
					to := g.realm.Read(slot(members[i].name))
					if to.Record == nil {
						continue
					}
					for _, r := range []*memory.Realm{g.realm, old}[:1+seed%2] {
						if f, held := asking(r, r.Store(), to.Record.Holder); held && random.IntN(4) > 0 {
							last = f
							ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
							_, _ = f.Ask(ctx) // the term may be over
							cancel()
						}
					}
				default:
					op := operation(random)
					stores[random.IntN(len(stores))].On(op, fault(random, op))
				}
			}
			g.recovers(seed, 300*time.Second, stores, members, gone)
			for _, h := range g.realm.Read("a").Record.History {
				if h.Why == "released: forced handover" {
					forced++
				}
			}
		})
	}
	if forced == 0 {
		t.Error("no request was obeyed lately")
	}
}
