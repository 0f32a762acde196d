package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// of is a sample of durations, given in milliseconds.
func of(all ...int) (s sample) {
	for _, n := range all {
		s = append(s, time.Duration(n)*time.Millisecond)
	}
	return s
}

// measured is a result with all measurements, and every target met.
func measured() *result {
	members := func(who contender, elections, n int, cpu float64) idle {
		p := idle{Who: who, Elections: elections, Members: n, Requests: 1}
		for range n {
			p.CPU, p.RSS, p.Goroutines = append(p.CPU, cpu), append(p.RSS, uint64(elections)<<11), append(p.Goroutines, 10)
		}
		return p
	}
	return &result{
		Size: "full", Profile: "default", Update: of(2), Event: of(2),
		Moves: []move{
			{Target: "P1", What: "handover", Who: clientGo, Took: of(1000)},
			{Target: "P1", What: "handover", Who: primacy, Took: of(6)},
			{Target: "P2", What: "takeover", Who: primacy, Took: of(12)},
			{Target: "P4", What: "crash", Who: primacy, Took: of(15100)},
			{Target: "P11", What: "start", Who: program, Took: of(500)},
			{Target: "P12", What: "death", Who: program, Took: of(60)},
			{Target: "P12", What: "death", Who: parentless, Took: of(15100)},
			{Target: "P12", What: "death", Who: clientGo, Took: of(17000)},
			{Target: "P11", What: "start", Who: parentless, Took: of(480)},
		},
		Cold:   cold{Elections: 1000, Took: 2 * time.Second, Alone: alone{1000, 1000}},
		Proved: proved{Elections: 1000, Took: of(1200, 1300, 1400), Alone: []alone{{Updates: 1000}, {Updates: 1000}, {Updates: 1000}}},
		Loop:   loop{Elections: 1000, Members: 5, Lasted: time.Minute, Deaths: []int{4}},
		Retake: retake{Elections: 1000, Took: time.Second, Alone: alone{1000, 1000}},
		Idle: []idle{
			members(primacy, 1, 1, .1), members(primacy, 300, 3, .3), members(primacy, 10000, 1, 1), members(primacy, 10000, 3, 1),
			members(byRecord, 300, 3, 1), members(clientGo, 30, 3, 3), members(clientGo, 300, 3, 9),
		},
		Conflicts: []conflicts{{Who: primacy, Handovers: 2, Conflicts: 2}, {Who: clientGo, Handovers: 1, Conflicts: 3}},
		P2:        exclusive{Terms: 3}, All: exclusive{Terms: 9},
	}
}

func text(t *testing.T, r *result) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTableHasEveryTarget(t *testing.T) {
	said := text(t, measured())
	for _, id := range []string{"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12"} {
		if !strings.Contains(said, "\n"+id+" ") {
			t.Errorf("no row of %s", id)
		}
	}
	if strings.Contains(said, "missed") {
		t.Errorf("a target was missed, though all were met:\n%s", said)
	}
	if err := measured().verdict(); err != nil {
		t.Error(err)
	}
}

func TestTableShowsWhatWasMissed(t *testing.T) {
	for name, spoil := range map[string]func(*result){
		"P1":   func(r *result) { r.Moves[1].Took = of(7) },
		"P2":   func(r *result) { r.Moves[2].Took = of(13) },
		"P3":   func(r *result) { r.P2.Overlaps = 1 },
		"P4":   func(r *result) { r.Moves[3].Took = of(15100, 15451) },
		"P4 ":  func(r *result) { r.Early = 1 },
		"P5":   func(r *result) { r.Idle[1].Requests = 1.6 },
		"P5 ":  func(r *result) { r.Idle[4].Requests = 101.1 },
		"P6":   func(r *result) { r.Idle[1].CPU[2] = .31 },
		"P6 ":  func(r *result) { r.Idle[3].CPU[1] = 1.1 },
		"P7":   func(r *result) { r.Idle[3].RSS[1] = 50 << 20 },
		"P8":   func(r *result) { r.Idle[3].Goroutines[2] = 51 },
		"P9":   func(r *result) { r.Cold.Took = 3 * time.Second },
		"P9 ":  func(r *result) { r.Retake.Took *= 2 },
		"P10":  func(r *result) { r.Conflicts[0].Conflicts = 3 },
		"P11":  func(r *result) { r.Moves[4].Took = of(501) },
		"P11 ": func(r *result) { r.Moves[8].Took = of(479) },
		"P12":  func(r *result) { r.Moves[5].Took = of(61) },
		"P12 ": func(r *result) { r.Proved.Alone[1].Updates = 1001 },
	} {
		r := measured()
		spoil(r)
		said := text(t, r)
		found := false
		for line := range strings.Lines(said) {
			if strings.Contains(line, "missed") {
				found = true
				if !strings.HasPrefix(line, strings.TrimSpace(name)+" ") {
					t.Errorf("%s was missed, but the table says %s", name, line)
				}
			}
		}
		if !found {
			t.Errorf("%s was missed, and the table does not say so", name)
		}
	}
}

func TestWhatFailsARun(t *testing.T) {
	for name, spoil := range map[string]func(*result){
		"an overlap":             func(r *result) { r.All.Overlaps = 1 },
		"a falling token":        func(r *result) { r.All.Falling = 1 },
		"an early takeover":      func(r *result) { r.Early = 1 },
		"a phase without result": func(r *result) { r.Failed = []string{"kills: no"} },
	} {
		r := measured()
		spoil(r)
		if r.verdict() == nil {
			t.Errorf("%s fails no run", name)
		}
	}
}

func TestKeptResultsSayTheSame(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kept.json")
	r := measured()
	if err := r.save(file); err != nil {
		t.Fatal(err)
	}
	again, err := loadResult(file)
	if err != nil {
		t.Fatal(err)
	}
	if text(t, again) != text(t, r) {
		t.Errorf("kept: %s\nbut measured: %s", text(t, again), text(t, r))
	}
}

func TestTableIsWrittenBetweenItsMarks(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("above\n"+tableBegins+"stale\n"+tableEnds+"below\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := measured().writeInto(page); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	said := string(data)
	if !strings.HasPrefix(said, "above\n") || !strings.HasSuffix(said, "below\n") || strings.Contains(said, "stale") || strings.Count(said, "| P10 |") != 1 {
		t.Errorf("the page says %s", said)
	}
	if err := os.WriteFile(page, []byte("above\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if measured().writeInto(page) == nil {
		t.Error("a page without marks was written to")
	}
}

func TestPlotIsXML(t *testing.T) {
	drawn := measured().plot()
	d := xml.NewDecoder(strings.NewReader(drawn))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	// Two panels of each kind: 4 points of ours over elections, one of them with 3 members.
	if n := strings.Count(drawn, "<title>Primacy: "); n != 3*(2+2) {
		t.Errorf("%d points of ours are drawn", n)
	}
	if strings.Contains(drawn, "NaN") || strings.Contains(drawn, "Inf") {
		t.Error("a point lies nowhere")
	}
	if empty := (&result{}).plot(); !strings.Contains(empty, "</svg>") {
		t.Errorf("of nothing, this is drawn: %s", empty)
	}
}
