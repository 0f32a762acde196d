package dev

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// kindsOfElections are the fields of elections, without their policies.
var kindsOfElections = map[string]string{
	"session": "", "record": "lock: {renewal: record}, ", "configmap": "lock: {kind: ConfigMap}, ",
	"migrated": "lock: {migrateFrom: {kind: ConfigMap}}, ", "renamed": "lock: {name: NAME-new, migrateFrom: {kind: Lease, name: NAME-old}}, ",
	"range": "range: true, ", "failopen": "outage: failopen, ", "scoped": "scope: revision, ", "disabled": "enabled: false, ",
}

// switched is a source of the preferred revision that a test switches.
type switched chan record.Preferred

func (s switched) Watch(ctx context.Context, deliver func(election.Preference)) error {
	for {
		select {
		case p := <-s:
			deliver(p)
		case <-ctx.Done():
			return nil
		}
	}
}

// theatre is a group of members with one document, and a board that watches them.
type theatre struct {
	*testing.T
	doc          *document
	leases, maps *memory.Realm
	board        *board
	said         []string
	managers     map[string]*election.Manager
	prefers      map[string]switched
	stops        map[string]func()
	preferred    record.Preferred
}

func (th *theatre) specs(revision string, stores map[string]lock.Store) (all []election.Spec) {
	for _, e := range th.doc.Elections {
		s := election.Spec{
			Name: e.Name, Lock: e.Lock.Name, Locks: stores[e.Lock.Kind], Timing: e.Timing, Policy: th.doc.policies()[e.Name],
			Bootstrap: election.BootstrapImmediate, Renewal: e.Lock.Renewal, Range: e.Range,
		}
		if e.Outage != "" && e.FailopenFor > 0 {
			s.Outage = election.Outage{Mode: election.OutageFailOpen, For: e.FailopenFor}
		}
		if from := e.Lock.MigrateFrom; from != nil {
			s.MigrateFrom = &election.LockRef{Lock: from.Name, Locks: stores[from.Kind]}
		}
		if e.Suffix != "" {
			plain := strings.TrimSuffix(e.Name, e.Suffix)
			s.Name, s.Lock, s.Policy = plain+"-"+revision, plain+"-"+revision, priority.Within(revision, priority.RevisionLocation{})
		}
		if e.Disabled {
			s.Disabled = true
		}
		all = append(all, s)
	}
	return all
}

func (th *theatre) join(name, revision string) {
	leases, maps := th.leases.Store(), th.maps.Store()
	prefers := make(switched, 4)
	m, err := election.NewManager(election.Config{
		Group: th.doc.Group, Host: name, Member: election.Member{Revision: revision}, Locks: leases, Timing: th.doc.Timing,
		Preferences: prefers, Clock: clocktest.Bubble{},
	})
	if err != nil {
		th.Fatal(err)
	}
	for _, s := range th.specs(revision, map[string]lock.Store{"Lease": leases, "ConfigMap": maps}) {
		if _, err := m.Add(s, nil); err != nil {
			th.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	th.managers[name], th.prefers[name] = m, prefers
	th.stops[name] = func() { cancel(); <-done }
	prefers <- th.preferred
	th.settle()
}

// settle lets members come to rest; the board sees each event at its time.
func (th *theatre) settle() {
	time.Sleep(20 * time.Second)
	synctest.Wait()
}

func (th *theatre) prefer(p record.Preferred) {
	th.preferred = p
	for _, c := range th.prefers {
		c <- p
	}
	th.settle()
}

// compare checks that the board's report and complaints agree with what members do.
func (th *theatre) compare(what string) {
	th.Helper()
	leading := map[string][]string{}
	for name, m := range th.managers {
		for _, s := range m.Statuses() {
			if s.IsLeader() {
				leading[s.Election()] = append(leading[s.Election()], name)
			}
		}
	}
	now := time.Now()
	r := th.board.report(now)
	if want := len(th.doc.expected()); len(r.Elections) != want {
		th.Errorf("%s: the board shows %d elections, want %d", what, len(r.Elections), want)
	}
	for _, e := range r.Elections {
		if e.State != status.Led || !slices.Equal(leading[e.Name], []string{view.NameOf(e.Holder)}) {
			th.Errorf("%s: the board says that %s is %s by %s; it is led by %v", what, e.Name, e.State, e.Holder, leading[e.Name])
		}
	}
	if amiss := th.board.amiss(now, th.preferred, th.doc.policies()); len(amiss) > 0 || !th.board.allLed(now) || len(th.board.wrong) > 0 {
		th.Errorf("%s: amiss %q, wrong %q", what, amiss, th.board.wrong)
	}
}

// TestBoardEqualsWhatHappens checks that, for elections of every kind, the board reports what members do:
// who leads and what moves. It must report nothing wrong.
func TestBoardEqualsWhatHappens(t *testing.T) {
	text := "defaultRevision: {configMap: {name: revisions, key: default}}\nmember: {revision: stable}\nelections:\n"
	for kind, fields := range kindsOfElections {
		for _, policy := range []string{"revision-location", "none", "weight"} {
			name := kind + "." + policy
			text += fmt.Sprintf("- {name: %s, %spriority: {policy: %s}}\n", name, strings.ReplaceAll(fields, "NAME", name), policy)
		}
	}
	doc := open(t, "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\ntiming: {profile: fast}\n"+text)
	synctest.Test(t, func(t *testing.T) {
		th := &theatre{
			T: t, doc: doc, leases: memory.New(clocktest.Bubble{}), maps: memory.New(clocktest.Bubble{}), board: newBoard(doc.Group, doc.expected()),
			managers: map[string]*election.Manager{}, prefers: map[string]switched{}, stops: map[string]func(){}, preferred: record.Prefer("stable"),
		}
		ctx, cancel := context.WithCancel(context.Background())
		events, done := make(chan sighted), make(chan struct{}, 3)
		for kind, realm := range map[status.Kind]*memory.Realm{status.Lease: th.leases, status.ConfigMap: th.maps} {
			go func() {
				defer func() { done <- struct{}{} }()
				_ = realm.Store().Watch(ctx, func(e lock.Event) { send(ctx, events, sighted{kind, e}) })
			}()
		}
		go func() {
			defer func() { done <- struct{}{} }()
			for {
				select {
				case e := <-events:
					th.said = append(th.said, th.board.observe(e.kind, e.Event, time.Now())...)
				case <-ctx.Done():
					return
				}
			}
		}()
		th.join("stable-0", "stable")
		th.join("canary-0", "canary")
		th.compare("at first")
		th.said = nil
		th.prefer(record.Prefer("canary"))
		th.compare("after the switch")
		moved := 0
		for _, l := range th.said {
			if strings.Contains(l, ": stable-0 -> canary-0 (better member is ready") {
				moved++
			}
		}
		if want := len(kindsOfElections) - 2; moved != want { // scoped and disabled elections do not move
			t.Errorf("the board told of %d moves, want %d:\n%s", moved, want, strings.Join(th.said, "\n"))
		}
		th.prefer(record.Prefer("stable"))
		th.compare("after the switch back")
		for _, stop := range th.stops {
			stop()
		}
		cancel()
		for range cap(done) {
			<-done
		}
	})
}
