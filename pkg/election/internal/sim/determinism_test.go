package sim

import (
	"math/rand/v2"
	"testing"
)

func TestASeedReplaysByteForByte(t *testing.T) {
	n := 100
	if raceDetector {
		n = 10
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		o := Options{Class: Classes[i%len(Classes)], Transcript: -1}
		seed := rng.Uint64()
		first, second := Run(seed, o), Run(seed, o)
		if first.Transcript == "" || first.Transcript != second.Transcript {
			t.Fatalf("seed %d (%v) does not replay identically", seed, o.Class)
		}
		if quiet := Run(seed, Options{Class: o.Class}); quiet.Steps != first.Steps || quiet.Violation != first.Violation {
			t.Fatalf("seed %d (%v) runs differently without a transcript", seed, o.Class)
		}
	}
}

func TestATranscriptKeepsTheLastLines(t *testing.T) {
	long, short := Run(7, Options{Transcript: -1}).Transcript, Run(7, Options{Transcript: 50}).Transcript
	if tail := long[len(long)-1000:]; short[len(short)-1000:] != tail {
		t.Error("the bounded transcript does not end like the whole one")
	}
	if len(short) > 50*300 {
		t.Errorf("the bounded transcript has %d bytes", len(short))
	}
}

// TestABlindJudgeIsFoundOut checks that the overlap planted in each run exposes a judge that does not see
// overlaps.
func TestABlindJudgeIsFoundOut(t *testing.T) {
	w := newWorld(1, Options{Class: Judged})
	if w.judge.plant(); w.violation != "" {
		t.Fatal(w.violation)
	}
	w.judge.sees = func(*judge) bool { return false }
	if w.judge.plant(); w.violation == "" {
		t.Error("a judge that does not see an overlap was not found out")
	}
}

func TestClocksAgreeWithThemselves(t *testing.T) {
	w := newWorld(3, Options{Class: Judged})
	for range 1000 {
		c, at := w.pickClock(), w.rng.Int64N(1e12)
		if got := c.when(c.local(at)); c.local(got) != c.local(at) || got > at {
			t.Fatalf("clock %+v shows %d at %d and also at %d", c, c.local(at), at, got)
		}
	}
}
