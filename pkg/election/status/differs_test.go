package status_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// TestWhoDiffers checks that a member that differs from most of its group stands out; one that publishes
// nothing does not.
func TestWhoDiffers(t *testing.T) {
	setup := record.Setup{Version: "v1", DriftPPM: 5000, LongestLease: 15, Rules: "r", Timings: "t"}
	for want, change := range map[string]func(*record.Record){
		"":              func(*record.Record) {},
		"leaseDuration": func(r *record.Record) { r.Mark.Duration = 30 * time.Second },
		"drift":         func(r *record.Record) { r.Member.DriftPPM = 20000 },
		"version":       func(r *record.Record) { r.Member.Version = "v2" },
		"elections":     func(r *record.Record) { r.Member.Config = "other" },
		"rules":         func(r *record.Record) { r.Member.Rules = "other" },
		"timings":       func(r *record.Record) { r.Member.Timings = "other" },
		"none: earlier": func(r *record.Record) { r.Member.Setup = record.Setup{} },
		"none: canary":  func(r *record.Record) { r.Member.Revision, r.Member.Version = "canary", "v2" },
		"none: ended":   func(r *record.Record) { r.Holder, r.Mark.Identity, r.Mark.Duration = "", "", time.Second },
	} {
		var all []lock.Entry
		for _, host := range []string{"a", "b", "c"} {
			e := session(host, host+"_00000001", "stable", time.Second)
			e.Record.Member.Setup, e.Record.Member.Config = setup, "c"
			if host == "b" {
				change(e.Record)
			}
			all = append(all, e)
		}
		r := status.Of(status.Selection{}, all, now)
		for _, m := range r.Members {
			var differs []string
			if m.Identity == "b_00000001" && want != "" && !strings.HasPrefix(want, "none") {
				differs = []string{want}
			}
			if !slices.Equal(m.Differs, differs) {
				t.Errorf("%s: %s differs in %v", want, m.Identity, m.Differs)
			}
		}
		var table bytes.Buffer
		if err := r.Write(&table, status.Table); err != nil || strings.Contains(table.String(), "differs from others in "+want) != (want != "" && !strings.HasPrefix(want, "none")) {
			t.Errorf("%s: %v\n%s", want, err, table.String())
		}
	}
}

// TestTwoDiffer checks that if two members differ it is unknown which is right.
func TestTwoDiffer(t *testing.T) {
	var all []lock.Entry
	for i, host := range []string{"a", "b"} {
		e := session(host, host+"_00000001", "stable", time.Second)
		e.Record.Member.Setup, e.Record.Member.Config = record.Setup{Version: "v1", DriftPPM: 5000 * (i + 1)}, "c"
		all = append(all, e)
	}
	for _, m := range status.Of(status.Selection{}, all, now).Members {
		if !slices.Equal(m.Differs, []string{"drift"}) {
			t.Errorf("%s differs in %v", m.Identity, m.Differs)
		}
	}
}

// TestOtherRevisionsDecide checks that if two members of one revision differ in their elections, the group shows which of
// them is unlike most.
func TestOtherRevisionsDecide(t *testing.T) {
	var all []lock.Entry
	for host, config := range map[string]string{"a": "c", "b": "other", "c": "c", "d": "c"} {
		revision := "canary"
		if host < "c" {
			revision = "stable"
		}
		e := session(host, host+"_00000001", revision, time.Second)
		e.Record.Member.Config = config
		all = append(all, e)
	}
	for _, m := range status.Of(status.Selection{}, all, now).Members {
		if differs := len(m.Differs) > 0; differs != (m.Identity == "b_00000001") {
			t.Errorf("%s differs in %v", m.Identity, m.Differs)
		}
	}
}

// TestNamesakes checks that two living members of one name stand out, and that a member does not that crashed and came back.
func TestNamesakes(t *testing.T) {
	for what, tt := range map[string]struct {
		change func(second *record.Record)
		want   bool
	}{
		"both live":     {func(*record.Record) {}, true},
		"came back":     {func(r *record.Record) { r.Acquired = ago(time.Second / 2) }, false},
		"one is silent": {func(r *record.Record) { r.Renewed = ago(time.Minute) }, false},
		"another group": {func(r *record.Record) { r.Group = "other" }, false},
		"another name":  {func(r *record.Record) { r.Holder, r.Mark.Identity, r.Member.Identity = bob, bob, bob }, false},
	} {
		first, second := session("alice", alice, "1-9-0", time.Second), session("alice-1", "alice_00000009", "1-9-0", time.Second)
		tt.change(second.Record)
		r := status.Of(status.Selection{}, []lock.Entry{first, second}, now)
		for _, m := range r.Members {
			if (len(m.Namesakes) > 0) != tt.want {
				t.Errorf("%s: %s has the namesakes %v", what, m.Identity, m.Namesakes)
			}
		}
		var table bytes.Buffer
		if err := r.Write(&table, status.Table); err != nil || strings.Contains(table.String(), "another living member has its name: alice_00000009") != tt.want {
			t.Errorf("%s: %v\n%s", what, err, table.String())
		}
	}
}
