package status_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the golden files anew")

var now = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// held is a lock that a member holds, renewed that long ago.
func held(election, holder string, key record.Key, token record.Token, renewed time.Duration) lock.Entry {
	return lock.Entry{Name: election, Record: &record.Record{
		Holder: holder, Duration: 15 * time.Second, Acquired: ago(time.Hour), Renewed: ago(renewed), Transitions: 2,
		Token: token, Group: "edge", Election: election,
		Mark: &record.Mark{Identity: holder, Transitions: 2, Key: key, Beat: 9, Duration: 15 * time.Second, Renewal: record.RenewalRecord},
	}}
}

func changed(e lock.Entry, change func(*record.Record)) lock.Entry {
	r := *e.Record
	mark := *r.Mark
	r.Mark = &mark
	change(&r)
	return lock.Entry{Name: e.Name, Record: &r}
}

func session(host, identity, revision string, renewed time.Duration) lock.Entry {
	m := &record.Member{Identity: identity, Revision: revision, Location: record.Local, Weight: 100, Ready: true, Preference: "1-9-0"}
	return lock.Entry{Name: "primacy-edge-" + host + "-0", Record: &record.Record{
		Holder: identity, Duration: 15 * time.Second, Acquired: ago(time.Hour), Renewed: ago(renewed), Group: "edge", Member: m,
		Mark: &record.Mark{Identity: identity, Key: m.Key(), Beat: 7, Duration: 15 * time.Second, Renewal: record.RenewalRecord},
	}}
}

const (
	alice = "alice_00000001"
	bob   = "bob_00000002"
	evil  = "evil\x1b[2J\u009b2J\u202egnp\xff\\"
)

// realm shows every state.
func realm() []lock.Entry {
	led := held("led", alice, "1-9-0", 206, 2*time.Second)
	return []lock.Entry{
		led,
		held("led-remote", bob, "^1-9-0", 207, 2*time.Second),
		held("stale", bob, "1-10-0", 208, 20*time.Second),
		changed(held("long", alice, "1-9-0", 209, 20*time.Second), func(r *record.Record) {
			r.Mark.Duration = time.Minute // the plain field counts for nothing
		}),
		changed(held("by-session", alice, "1-9-0", 210, time.Hour), func(r *record.Record) {
			r.Mark.Renewal, r.Mark.Session = record.RenewalSession, "primacy-edge-alice-0"
		}),
		changed(held("by-lost-session", "gone_00000003", "1-9-0", 211, time.Hour), func(r *record.Record) {
			r.Mark.Renewal, r.Mark.Session = record.RenewalSession, "primacy-edge-gone-0"
		}),
		changed(held("by-ended-session", "carol_00000004", "1-9-0", 211, time.Hour), func(r *record.Record) {
			r.Mark.Renewal, r.Mark.Session = record.RenewalSession, "primacy-edge-carol-0"
		}),
		changed(held("released", "", "1-9-0", 212, 3*time.Minute), func(r *record.Record) {
			r.Acquired, r.HandoverTo = r.Renewed, bob
		}),
		{Name: "waiting", Record: &record.Record{Group: "edge", Election: "waiting"}},
		{Name: "foreign", Record: &record.Record{Holder: "kube-scheduler", Duration: 15 * time.Second, Acquired: ago(time.Minute), Renewed: ago(time.Second), Group: "edge", Election: "foreign"}},
		changed(held("renamed", alice, "1-9-0", 213, time.Second), func(r *record.Record) { r.Holder = bob }),
		changed(held("blanked", alice, "1-9-0", 214, time.Second), func(r *record.Record) { r.Holder = "" }),
		{Name: "unmarked", Record: &record.Record{Holder: alice, Transitions: 1, Duration: 15 * time.Second, Group: "edge", Election: "unmarked"}},
		changed(held("corrupt", alice, "1-9-0", 215, time.Second), func(r *record.Record) { r.Unreadable = "primacy.dev/token: \"\x1b\" is no number" }),
		changed(held("hostile", evil, record.Key(evil), 216, time.Second), func(r *record.Record) { r.Mark.Identity = evil }),
		session("alice", alice, "1-9-0", time.Second),
		changed(session("bob", bob, "1-10-0", 20*time.Second), func(r *record.Record) {
			m := *r.Member
			m.Ready, m.Standing, m.Location = false, []string{"led", "long"}, record.Remote
			r.Member = &m
		}),
		changed(session("carol", "carol_00000004", "1-9-0", time.Minute), func(r *record.Record) {
			r.Holder, r.Mark.Identity = "", ""
			m := *r.Member
			m.Proofs = []record.Proof{record.ProofParent, record.ProofOperator}
			m.Deaths = []record.Death{
				{Proof: record.ProofOperator, Identity: "carol_00000002", Beat: 3, By: "operator " + evil, How: "an operator said so", At: ago(2 * time.Hour)},
				{Proof: record.ProofParent, Identity: "carol_00000004", Beat: 6, By: "parent of carol_00000004", How: "killed by SIGKILL", At: ago(time.Minute)},
				{Proof: record.ProofParent, Identity: "carol_00000003", UID: "another", Beat: 6, By: "somebody", How: "of another object", At: ago(time.Minute)},
			}
			r.Member = &m
		}),
		changed(session("dave", "dave_00000005", "1-9-0", time.Second), func(r *record.Record) { r.Unreadable = "broken JSON" }),
		{Name: "primacy-edge-erin-0", Record: &record.Record{Holder: "erin_00000006", Group: "edge"}}, // a session that lost its annotations
		{Name: "not-ours", Record: &record.Record{Holder: "somebody"}},
		{Name: "gone"},
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (-update writes it anew):\n%s", path, got)
	}
}

func TestFormats(t *testing.T) {
	report := status.Of(status.Selection{Group: "edge", Expected: []status.Expected{{Election: "later", Lock: "later-lock"}, {Election: "taken", Lock: "not-ours"}}}, realm(), now)
	for _, f := range []status.Format{status.Table, status.JSON, status.YAML, status.Names} {
		var out bytes.Buffer
		if err := report.Write(&out, f); err != nil {
			t.Fatal(err)
		}
		golden(t, "realm."+string(f), out.Bytes())
		if !utf8.Valid(out.Bytes()) || bytes.ContainsFunc(out.Bytes(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
			t.Errorf("%s: what a stranger wrote reaches the terminal", f)
		}
		if f == status.JSON && !json.Valid(out.Bytes()) {
			t.Error("no JSON")
		}
	}
}

func TestSeveralGroups(t *testing.T) {
	other := changed(held("z", alice, "1-9-0", 1, time.Second), func(r *record.Record) { r.Group = "core" })
	entries := []lock.Entry{held("a", alice, "1-9-0", 2, time.Second), other}
	var out strings.Builder
	if err := status.Of(status.Selection{}, entries, now).Write(&out, status.Table); err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(out.String()); got[0] != "GROUP" || got[9] != "core" || got[17] != "edge" {
		t.Errorf("got\n%s", &out)
	}
	if r := status.Of(status.Selection{Group: "core"}, entries, now); len(r.Elections) != 1 || r.Elections[0].Name != "z" {
		t.Errorf("group core has %v", r.Elections)
	}
}

func TestParseFormat(t *testing.T) {
	if f, err := status.ParseFormat("yaml"); f != status.YAML || err != nil {
		t.Errorf("yaml: %v, %v", f, err)
	}
	if _, err := status.ParseFormat("tabel"); err == nil || err.Error() != `want table, json, yaml, name, got "tabel" (did you mean table?)` {
		t.Errorf("tabel: %v", err)
	}
}

func TestChanges(t *testing.T) {
	var c status.Changes
	names := func(entries []lock.Entry, at time.Time) string {
		news := c.Since(status.Of(status.Selection{}, entries, at))
		var names []string
		for _, e := range news.Elections {
			names = append(names, e.Name+":"+string(e.State))
		}
		for _, m := range news.Members {
			names = append(names, m.Identity+":"+string(m.State))
		}
		return strings.Join(names, " ")
	}
	a, b := held("a", alice, "1-9-0", 1, time.Second), held("b", bob, "1-9-0", 2, time.Second)
	s := session("alice", alice, "1-9-0", time.Second)
	for _, step := range []struct {
		entries []lock.Entry
		at      time.Time
		want    string
	}{
		{[]lock.Entry{a, s}, now, "a:led alice_00000001:live"},
		{[]lock.Entry{a, s}, now.Add(time.Second), ""},
		{[]lock.Entry{changed(a, func(r *record.Record) { r.Renewed = now }), s}, now, ""}, // a renewal is no news
		{[]lock.Entry{a, b, s}, now, "b:led"},
		{[]lock.Entry{a, b, s}, now.Add(14500 * time.Millisecond), "a:led b:led alice_00000001:stale"},
		{[]lock.Entry{b, s}, now, "b:led alice_00000001:live"},
		{nil, now, ""},
		{[]lock.Entry{b}, now, "b:led"},
	} {
		if got := names(step.entries, step.at); got != step.want {
			t.Errorf("%v at %v: %q, want %q", step.entries, step.at, got, step.want)
		}
	}
}

// stream is a store that shows the events that the test sends.
type stream struct {
	lock.Store
	events chan lock.Event
}

func (s stream) Watch(ctx context.Context, deliver func(lock.Event)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-s.events:
			if !open {
				return errGivenUp
			}
			deliver(e)
		}
	}
}

var errGivenUp = errors.New("given up")

func script(events ...lock.Event) stream {
	s := stream{events: make(chan lock.Event, 16)}
	for _, e := range events {
		s.events <- e
	}
	return s
}

func TestLook(t *testing.T) {
	a := held("a", alice, "1-9-0", 1, time.Second)
	r, err := status.Look(t.Context(), status.Realm{Leases: script(lock.Event{Kind: lock.Listing}, lock.Event{Kind: lock.Listed, List: []lock.Entry{a}})}, status.Selection{})
	if err != nil || len(r.Elections) != 1 {
		t.Errorf("got %v, %v", r, err)
	}
	if _, err := status.Look(t.Context(), status.Realm{Leases: script(lock.Event{Kind: lock.Broken, Err: lock.ErrDenied})}, status.Selection{}); !errors.Is(err, lock.ErrDenied) {
		t.Errorf("a list that is denied: %v", err)
	}
	ended := script()
	close(ended.events)
	if _, err := status.Look(t.Context(), status.Realm{Leases: ended}, status.Selection{}); !errors.Is(err, errGivenUp) {
		t.Errorf("a store that gives up: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := status.Look(ctx, status.Realm{Leases: script()}, status.Selection{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fresh := held("a", alice, "1-9-0", 1, 0)
		fresh.Record.Renewed = time.Now()
		s := script()
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var said []string
		say := func(s string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, s)
		}
		heard := func() []string {
			mu.Lock()
			defer mu.Unlock()
			defer func() { said = nil }()
			return said
		}
		done := make(chan error, 1)
		go func() {
			done <- status.Follow(ctx, status.Realm{Leases: s}, status.Selection{}, func(r status.Report, err error) {
				if err != nil {
					say(err.Error())
					return
				}
				var line []string
				for _, e := range r.Elections {
					state := string(e.State)
					if e.Stale {
						state = "stale"
					}
					line = append(line, e.Name+":"+state)
				}
				if !r.AsOf.IsZero() {
					line = append(line, "old:"+time.Since(r.AsOf).Truncate(time.Second).String())
				}
				say(strings.Join(line, ","))
			})
		}()
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			if got := heard(); strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("said %q, want %q", got, want)
			}
		}
		s.events <- lock.Event{Kind: lock.Listing}
		expect()
		s.events <- lock.Event{Kind: lock.Listed, List: []lock.Entry{fresh}}
		expect("a:led")
		s.events <- lock.Event{Kind: lock.Resumed}
		s.events <- lock.Event{Kind: lock.Progressed}
		expect()
		s.events <- lock.Event{Kind: lock.Changed, Entry: lock.Entry{Name: "b", Record: &record.Record{Group: "edge"}}}
		expect("a:led,b:waiting")
		s.events <- lock.Event{Kind: lock.Changed, Entry: lock.Entry{Name: "b"}}
		expect("a:led")
		time.Sleep(16500 * time.Millisecond) // only time passes
		synctest.Wait()
		if got := heard(); len(got) != 16 || got[14] != "a:led" || got[15] != "a:stale" {
			t.Errorf("said %q", got)
		}
		s.events <- lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown}
		expect("outcome unknown", "a:stale,old:16s") // since the last event, which was the end of b
		s.events <- lock.Event{Kind: lock.Listing}
		expect()
		time.Sleep(1100 * time.Millisecond)
		expect("a:stale,old:17s")
		s.events <- lock.Event{Kind: lock.Listed, List: []lock.Entry{fresh}}
		expect("a:stale")
		s.events <- lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown}
		expect("outcome unknown", "a:stale,old:0s")
		s.events <- lock.Event{Kind: lock.Resumed}
		time.Sleep(1100 * time.Millisecond)
		expect("a:stale")
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
