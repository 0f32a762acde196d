package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// deniedWrites is a store that denies all writes.
type deniedWrites struct{ lock.Store }

func (deniedWrites) Put(_ context.Context, name string, _ record.Record, _ record.Version) (record.Version, error) {
	return record.Version{}, fmt.Errorf("%w: %s", lock.ErrDenied, name)
}

// leftBehind is a realm with the locks and sessions of two dead members, and its elections.
func leftBehind(t *testing.T) (*memory.Realm, []status.Election) {
	t.Helper()
	const lease = 15 * time.Second
	realm := memory.New(clocktest.Bubble{})
	write := func(name string, r record.Record) {
		if _, err := realm.Write(name, r, record.Version{}); err != nil {
			t.Fatal(err)
		}
	}
	var all []status.Election
	for i := range 4 {
		member, name := fmt.Sprintf("m%d", i%2), fmt.Sprintf("e%d", i)
		identity, session := member+"_00000001", "primacy-edge-"+member+"-0"
		if i < 2 {
			write(session, record.Record{
				Holder: identity, Duration: lease, Group: "edge", Mark: &record.Mark{Identity: identity, Beat: 7, Duration: lease, Renewal: record.RenewalRecord},
				Member: &record.Member{Identity: identity, Revision: "stable", Location: record.Local, Ready: true},
			})
		}
		write(name, record.Record{
			Holder: identity, Duration: 365 * 24 * time.Hour, Transitions: 1, Token: 1, Group: "edge", Election: name,
			Mark: &record.Mark{
				Identity: identity, Transitions: 1, Beat: 1, Duration: lease,
				Renewal: record.RenewalSession, Session: session, SessionUID: realm.Read(session).Version.UID,
			},
		})
		all = append(all, status.Election{Name: name, Lock: name, Kind: status.Lease, Group: "edge"})
	}
	return realm, all
}

// TestHandbackWaitsForAllHoldersAtOnce checks that `primacy handback` waits for one lease, however many members died.
func TestHandbackWaitsForAllHoldersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		realm, chosen := leftBehind(t)
		var dry dryRun
		h := handbackCommand{clock: clocktest.Bubble{}, dry: &dry}
		h.notes, h.realm = io.Discard, status.Realm{Leases: realm.Store()}
		begun := time.Now()
		all, err := h.handBack(t.Context(), election.Handback{Clock: h.clock, Leases: h.realm.Leases, By: "operator"}, chosen)
		if took := time.Since(begun); err != nil || took > 16*time.Second {
			t.Errorf("it took %v: %v", took, err)
		}
		for _, one := range all {
			if !one.Released || realm.Read(one.Lock).Record.Holder != "" {
				t.Errorf("not released: %+v", one)
			}
		}
	})
}

// TestHandbackThatIsDenied checks that a denial is said once for all elections, with what helps.
func TestHandbackThatIsDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		realm, chosen := leftBehind(t)
		var dry dryRun
		h := handbackCommand{clock: clocktest.Bubble{}, dry: &dry}
		h.notes, h.realm = io.Discard, status.Realm{Leases: deniedWrites{realm.Store()}}
		all, err := h.handBack(t.Context(), election.Handback{Clock: h.clock, Leases: h.realm.Leases, By: "operator"}, chosen)
		if !errors.Is(err, lock.ErrDenied) || strings.Count(err.Error(), "denied") != 1 ||
			!strings.HasPrefix(err.Error(), "elections e0, e1, e2, e3: ") || !strings.HasSuffix(err.Error(), "("+asMembers+")") {
			t.Errorf("got %v", err)
		}
		for _, one := range all {
			if one.Released || one.Error == "" {
				t.Errorf("got %+v", one)
			}
		}
	})
}

// TestHandbackAsksWhichGroup checks that a name that several groups use chooses no election of either.
func TestHandbackAsksWhichGroup(t *testing.T) {
	both := status.Report{Elections: []status.Election{
		{Name: "certs", Group: "core", Lock: "core-certs"}, {Name: "certs", Group: "edge", Lock: "edge-certs"}, {Name: "dns", Group: "edge", Lock: "dns"},
	}}
	of := func(names ...string) *handbackCommand { return &handbackCommand{elections: names} }
	if chosen, err := of("dns", "certs").choose(both); !errors.As(err, new(*usageError)) ||
		err.Error() != "which certs? groups core, edge have an election of that name (--group names one)" {
		t.Errorf("chose %v: %v", chosen, err)
	}
	if chosen, err := of("dns").choose(both); err != nil || len(chosen) != 1 || chosen[0].Lock != "dns" {
		t.Errorf("chose %v: %v", chosen, err)
	}
}

// TestHandbackReleasesAllLocks checks that an election's other Leases are released as well, such as one that it had under another
// name.
func TestHandbackReleasesAllLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		realm, all := leftBehind(t)
		renamed := all[0]
		renamed.Others = []status.OtherLock{
			{Ref: all[1].Ref(), State: status.Led, Holder: "m1_00000001"},
			{Ref: status.Ref{Kind: status.ConfigMap, Name: "e0"}, State: status.Released},
		}
		var dry dryRun
		h := handbackCommand{clock: clocktest.Bubble{}, dry: &dry, elections: []string{"e0"}}
		h.notes, h.realm = io.Discard, status.Realm{Leases: realm.Store()}
		chosen, err := h.choose(status.Report{Elections: []status.Election{renamed}})
		if err != nil {
			t.Fatal(err)
		}
		done, err := h.handBack(t.Context(), election.Handback{Clock: h.clock, Leases: h.realm.Leases, By: "operator"}, chosen)
		if err != nil || len(done) != 2 || !done[1].Released || done[1].Election != "e0" || done[1].Lock != "e1" {
			t.Errorf("got %+v: %v", done, err)
		}
	})
}

// unwatched is a store of which only single objects are read.
type unwatched struct{ lock.Store }

func (unwatched) WatchNames(context.Context, []string, func(lock.Event)) error {
	return errors.New("nobody watches it")
}

// TestHandbackInAnotherNamespace checks that the session of a lock's holder counts beside the lock, wherever the sessions of the
// configuration are.
func TestHandbackInAnotherNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		elsewhere, chosen := leftBehind(t)
		for i := range chosen {
			chosen[i].Namespace = "edge"
		}
		var dry dryRun
		h := handbackCommand{clock: clocktest.Bubble{}, dry: &dry}
		h.notes, h.realm = io.Discard, status.Realm{
			Leases: memory.New(clocktest.Bubble{}).Store(),
			In:     func(string) status.Place { return status.Place{Leases: unwatched{elsewhere.Store()}} },
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { // ends with ctx
			for i := 0; clock.Wait(ctx, 3*time.Second); i++ {
				name := fmt.Sprintf("primacy-edge-m%d-0", i%2)
				beat := *elsewhere.Read(name).Record
				mark := *beat.Mark
				mark.Beat++
				beat.Mark = &mark
				if _, err := elsewhere.Write(name, beat, elsewhere.Read(name).Version); err != nil {
					t.Error(err)
				}
			}
		}()
		all, err := h.handBack(t.Context(), election.Handback{Clock: h.clock, Leases: h.realm.Leases, By: "operator"}, chosen)
		if !errors.Is(err, election.ErrHolderLives) {
			t.Errorf("beside holders that live: %v", err)
		}
		for _, one := range all {
			if one.Released || elsewhere.Read(one.Lock).Record.Holder == "" {
				t.Errorf("released: %+v", one)
			}
		}
	})
}
