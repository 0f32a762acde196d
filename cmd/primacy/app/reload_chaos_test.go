package app

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// draft is one election of a document that changes again and again.
type draft struct {
	name                 string
	present, disabled    bool
	scoped, open, record bool
	note, hold           int
	// stage counts how far the election has moved: from one kind of lock through both to the other, and back.
	stage int
}

// lock is the election's lock at its stage.
func (d draft) lock() string {
	renewal := ""
	if d.record {
		renewal = "renewal: record"
	}
	return []string{
		"{" + renewal + "}", "{kind: ConfigMap, migrateFrom: {kind: Lease" + d.oldName() + "}}",
		"{kind: ConfigMap}", "{migrateFrom: {kind: ConfigMap" + d.oldName() + "}}",
	}[d.stage%4]
}

// oldName names the old lock if its name has a suffix: the default name in migrateFrom has none.
func (d draft) oldName() string {
	if d.scoped {
		return ", name: " + d.name + "-r1"
	}
	return ""
}

func (d draft) moves() bool { return d.stage%2 == 1 }

func (d draft) text() string {
	text := fmt.Sprintf("- name: %s\n  lock: %s\n  timing: {minHold: %ds}\n  runners: [{name: w, work: {stop: 300ms, note: n%d, alone: %v}}]\n", d.name, d.lock(), d.hold, d.note, d.disabled || d.open)
	if d.scoped {
		text += "  scope: revision\n"
	}
	if d.disabled {
		text += "  enabled: false\n"
	}
	if d.open {
		text += "  outage: failopen\n"
	}
	return text
}

type drafts []draft

func (ds drafts) text(head string) string {
	text := head + "elections:\n"
	some := false
	for _, d := range ds {
		if d.present {
			text, some = text+d.text(), true
		}
	}
	if !some {
		return head + "elections: []\n"
	}
	return text
}

const chaosHead = "group: g\ntiming: {profile: fast}\n"

// mutate makes the next document. Every member must accept it: it is at most one stage ahead of any
// document that a member has.
func (ds drafts) mutate(random *rand.Rand, everybodyHas func(name string) bool) {
	d := &ds[random.IntN(len(ds))]
	switch random.IntN(8) {
	case 0:
		d.present = !d.present
	case 1:
		d.disabled = !d.disabled && !d.open
	case 2:
		if !d.disabled && !d.moves() {
			d.open = !d.open
		}
	case 3:
		d.record = !d.record
	case 4, 5:
		// The next stage may begin only when all members have the present one.
		if d.present && !d.open && !d.disabled && everybodyHas(d.name) {
			d.stage++
		}
	case 6:
		d.hold = random.IntN(3)
	default:
		d.note++
	}
}

// wrongs change a document so that members must refuse it because of election d.
var wrongs = []func(text string, d draft) string{
	func(text string, d draft) string {
		return strings.Replace(text, "- name: "+d.name+"\n  lock: "+d.lock(), "- name: "+d.name+"\n  lock: {name: elsewhere}", 1)
	},
	func(text string, _ draft) string {
		return strings.Replace(text, "profile: fast", "profile: relaxed", 1)
	},
	func(text string, _ draft) string { return text + "- name: rollout-g\n" },
	func(text string, d draft) string { return text + d.text() },
	func(text string, _ draft) string { return strings.Replace(text, "elections:", "elecions:", 1) },
	func(text string, _ draft) string { return strings.Replace(text, "note: n", "stop: 1s, note: n", 1) },
}

// TestReloadsAmongFaults gives members one document after another. Members take up a document now or later,
// skip some, refuse wrong ones, restart with the last one, and sometimes cannot reach the store. The test
// checks that no two members ever do the same work at once. In the end members must lead every election of
// the last document, and their rosters must have all elections.
func TestReloadsAmongFaults(t *testing.T) {
	for seed := range uint64(24) {
		synctest.Test(t, func(t *testing.T) { reloadsAmongFaults(t, seed) })
	}
}

func reloadsAmongFaults(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	b := newBubble(t)
	docs := drafts{{name: "a"}, {name: "b"}, {name: "c", scoped: true}, {name: "d", open: true}, {name: "e"}}
	for i := range docs {
		docs[i].present = true
	}
	text := docs.text(chaosHead)
	members := make([]*follower, 3)
	for i := range members {
		members[i] = b.start(fmt.Sprint("m", i+1), text, "--revision", "r1")
		members[i].said = text
	}
	wait(20 * time.Second)
	refused, taken := 0, 0
	for range 40 {
		i := random.IntN(len(members))
		m := members[i]
		if random.IntN(3) > 0 {
			docs.mutate(random, func(string) bool {
				return !slices.ContainsFunc(members, func(m *follower) bool { return m.said != text })
			})
			text = docs.text(chaosHead)
		}
		switch d := docs[random.IntN(len(docs))]; {
		case random.IntN(4) == 0:
			wrong := wrongs[random.IntN(len(wrongs))](text, d)
			before := m.reloads.inForce
			err := m.reload(wrong)
			var placed strict.Errors
			if hasLock := slices.ContainsFunc(before.Elections, func(e config.Election) bool { return strings.HasPrefix(e.Name, d.name) && !e.Disabled }); wrong == text || !hasLock || !d.present || d.disabled {
				if err == nil {
					m.said = "another"
				}
				break // this edit would not make it wrong
			}
			if !errors.As(err, &placed) || placed[0].Line == 0 || m.reloads.inForce != before {
				t.Errorf("seed %d: %v: what is wrong was taken up:\n%s", seed, err, wrong)
			}
			refused++
		case random.IntN(10) == 0:
			m.leave()
			members[i] = b.start(m.name, text, "--revision", "r1")
			members[i].said = text
		default:
			if err := m.reload(text); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			m.said = text
			taken++
		}
		m = members[random.IntN(len(members))]
		switch random.IntN(8) {
		case 0:
			m.each(func(s *memory.Store) { s.On(memory.Put, memory.Hang()) })
		case 1:
			m.each(func(s *memory.Store) { s.On(memory.Put, memory.Lose()) })
		case 2:
			m.each(func(s *memory.Store) { s.CutWatches() })
		default:
			m.each((*memory.Store).Heal)
		}
		wait(time.Duration(random.IntN(9000)) * time.Millisecond)
	}
	for i := range docs {
		docs[i].disabled, docs[i].open = false, false
	}
	text = docs.text(chaosHead)
	for _, m := range members {
		m.each((*memory.Store).Heal)
		if err := m.reload(text); err != nil {
			t.Fatalf("seed %d: in the end: %v\n%s", seed, err, text)
		}
	}
	wait(3 * time.Minute)
	if refused == 0 || taken < 5 {
		t.Errorf("seed %d: %d were refused, %d taken up", seed, refused, taken)
	}
	led := leaders(members...)
	for _, d := range docs {
		name := d.name
		if d.scoped {
			name += "-r1"
		}
		want := 0
		if d.present {
			want = 1
		}
		if len(led[name]) != want || len(b.journal.workers(name)) != want {
			t.Errorf("seed %d: %s is led by %v, and %v work; want %d", seed, name, led[name], b.journal.workers(name), want)
		}
		for _, m := range members {
			all, _ := m.roster.all()
			if on := slices.ContainsFunc(all, func(s election.Spec) bool { return s.Name == name }); on != (d.present && !d.scoped) {
				t.Errorf("seed %d: %s on the roster of %s: %v", seed, name, m.name, on)
			}
		}
	}
	for _, o := range b.journal.overlaps() {
		t.Errorf("seed %d: %s", seed, o)
	}
	b.journal.work = map[string][]*stretch{}
	b.end(members...)
}
