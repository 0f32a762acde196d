package app

import (
	"math"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"
)

// TestSlewOf checks what adjustments add up to.
func TestSlewOf(t *testing.T) {
	const ppm = 1 << 16 // of a frequency
	for _, tt := range []struct {
		name string
		of   unix.Timex
		want float64 // ppm
	}{
		{"none", unix.Timex{Tick: 10000}, 0},
		{"chrony, 83333 ppm faster", unix.Timex{Tick: 10833, Freq: 33 * ppm}, 83_333},
		{"chrony, 83333 ppm slower", unix.Timex{Tick: 9167, Freq: -33 * ppm}, -83_333},
		{"a frequency against the tick", unix.Timex{Tick: 10050, Freq: -500 * ppm}, 4_500},
		{"a slow frequency", unix.Timex{Tick: 10000, Freq: -12.5 * ppm}, -12.5},
		{"systemd-timesyncd, 0.4 s", unix.Timex{Tick: 10000, Offset: 400_000_000, Constant: 1, Status: unix.STA_PLL | unix.STA_NANO}, 50_000},
		{"systemd-timesyncd, -0.4 s", unix.Timex{Tick: 10000, Offset: -400_000_000, Constant: 1, Status: unix.STA_PLL | unix.STA_NANO}, -50_000},
		{"ntpd, 128 ms", unix.Timex{Tick: 10000, Offset: 128_000_000, Constant: 6, Status: unix.STA_PLL | unix.STA_NANO}, 500},
		{"an offset in microseconds", unix.Timex{Tick: 10000, Offset: 128_000, Constant: 6, Status: unix.STA_PLL}, 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := float64(slewOf(&tt.of)) * 1e6; math.Abs(got-tt.want) > 1e-6 {
				t.Errorf("%v ppm, want %v", got, tt.want)
			}
		})
	}
}

// TestSlewExceeds checks that a slew of timing.drift itself is allowed, in both directions.
func TestSlewExceeds(t *testing.T) {
	for tick, want := range map[int]bool{9949: true, 9950: false, 10000: false, 10050: false, 10051: true} {
		if got := slew(float64(tick-10000) / 10000).exceeds(0.005); got != want {
			t.Errorf("a tick of %d exceeds 0.005: %v", tick, got)
		}
	}
}

// TestLogSlew checks that a member warns of what exceeds timing.drift, and of nothing else.
func TestLogSlew(t *testing.T) {
	for _, tt := range []struct {
		name  string
		of    unix.Timex
		err   error
		level zapcore.Level
		want  string // nothing is said if it is empty
	}{
		{"fast", unix.Timex{Tick: 10833}, nil, zap.WarnLevel, "maxslewrate"},
		{"slow", unix.Timex{Tick: 9167}, nil, zap.WarnLevel, "maxslewrate"},
		{"within timing.drift", unix.Timex{Tick: 10000, Freq: 1 << 20}, nil, zap.WarnLevel, ""},
		{"not known", unix.Timex{}, unix.EPERM, zap.InfoLevel, "is not known"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plantSlew(t, tt.of, tt.err)
			core, logs := observer.New(zap.InfoLevel)
			logSlew(zap.New(core), 0.005)
			switch all := logs.All(); {
			case tt.want == "" && len(all) != 0:
				t.Errorf("logged %v", all)
			case tt.want == "":
			case len(all) != 1 || all[0].Level != tt.level || !strings.Contains(all[0].Message, tt.want):
				t.Errorf("logged %v, want one line at %v with %q", all, tt.level, tt.want)
			case tt.err == nil && (all[0].ContextMap()["drift"] != 0.005 || math.Abs(all[0].ContextMap()["rate"].(float64)) != 0.0833):
				t.Errorf("logged %v", all[0].ContextMap())
			}
		})
	}
}

// TestSlewing checks that the kernel answers with what it can do, and that we ask it to change nothing.
func TestSlewing(t *testing.T) {
	s, err := slewing()
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(float64(s)) > 0.25 { // a tenth by the tick, an eighth by an offset, and a frequency
		t.Errorf("the kernel slews by %v, more than it can", s)
	}
	plantSlew(t, unix.Timex{Tick: 10833}, nil)
	if s, err := slewing(); err != nil || s != 0.0833 {
		t.Errorf("%v, %v", s, err)
	}
}

// plantSlew makes the kernel seem to adjust the clock, until the test ends.
func plantSlew(t *testing.T, as unix.Timex, err error) {
	t.Helper()
	ours := adjtimex
	t.Cleanup(func() { adjtimex = ours })
	adjtimex = func(to *unix.Timex) (int, error) {
		if to.Modes != 0 {
			t.Errorf("modes %#x would change the clock", to.Modes)
		}
		*to = as
		return 0, err
	}
}
