package sim

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestRegressions(t *testing.T) {
	text, err := os.ReadFile("testdata/regressions.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		id, why, _ := strings.Cut(line, " ")
		r, err := parseSeed(id)
		if err != nil || strings.TrimSpace(why) == "" {
			t.Fatalf("testdata/regressions.txt: %q: want class:seed and why (%v)", line, err)
		}
		if got := Run(r.Seed, Options{Class: r.Class}); got.Violation != "" {
			t.Errorf("%s is back: %s", strings.TrimSpace(why), got.Explain())
		}
	}
}

// parseSeed reads class:seed.
func parseSeed(s string) (r Result, err error) {
	class, seed, _ := strings.Cut(s, ":")
	if r.Class, err = ParseClass(class); err != nil {
		return r, err
	}
	r.Seed, err = strconv.ParseUint(seed, 10, 64)
	return r, err
}
