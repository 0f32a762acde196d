package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "soak.json")
	for _, seeds := range []string{"3", "2", "5"} {
		s, err := run([]string{file, seeds})
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]uint64{"3": 3, "2": 3, "5": 5}[seeds]; s.Schedules["judged"] != want {
			t.Errorf("up to %s: %d seeds ran, want %d", seeds, s.Schedules["judged"], want)
		}
	}
}

func TestOneBinary(t *testing.T) {
	file := filepath.Join(t.TempDir(), "soak.json")
	s, err := read(file, "one")
	if err != nil {
		t.Fatal(err)
	}
	s.Schedules["judged"], s.Violations = 7, append(s.Violations, "judged:2 planted")
	if err := s.write(file); err != nil {
		t.Fatal(err)
	}
	again, err := read(file, "one")
	if err != nil {
		t.Fatal(err)
	}
	if again.Schedules["judged"] != 7 || len(again.Violations) != 1 {
		t.Errorf("the soak goes on from %+v", again)
	}
	if _, err := read(file, "other"); err == nil || !strings.Contains(err.Error(), "7 seeds ran on the binary one") {
		t.Errorf("another binary goes on: %v", err)
	}
}
