package app

import (
	"fmt"
	"math"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// slew is by how much the kernel makes the clocks of its machine faster than the hardware, less than 0 for slower: 0.005
// is 0.5 %. CLOCK_BOOTTIME, with which members wait, is one of these clocks. NTP cannot step it, but slews it.
type slew float64

// exceeds says whether a clock with this slew breaks what timing.drift assumes.
func (s slew) exceeds(drift float64) bool { return math.Abs(float64(s)) > drift }

// ppm is the slew in parts per million, as in the configuration of NTP.
func (s slew) ppm() float64 { return float64(s) * 1e6 }

// adjtimex is the system call; tests plant answers.
var adjtimex = unix.Adjtimex

// slewing asks the kernel for the present slew. That needs no right. Containers and time namespaces have the slew of
// their machine.
func slewing() (slew, error) {
	var t unix.Timex // its modes are 0: change nothing
	if _, err := adjtimex(&t); err != nil {
		return 0, fmt.Errorf("adjtimex: %w", err)
	}
	return slewOf(&t), nil
}

// slewOf adds up the adjustments that adjtimex shows. It does not show that of adjtime(3), at most 500 ppm.
func slewOf(t *unix.Timex) slew {
	const (
		nominal  = 10_000        // the tick of a clock that is not adjusted, in microseconds: a second has 100
		scaled   = 1e-6 / 65_536 // the unit of a frequency
		shiftPLL = 2             // as in the kernel: each second it corrects 1/2^(shiftPLL+constant) of the offset
	)
	unit := 1e-6
	if t.Status&unix.STA_NANO != 0 {
		unit = 1e-9
	}
	s := float64(t.Tick-nominal) / nominal                                 // chronyd slews by tick and frequency
	s += float64(t.Freq) * scaled                                          // this also corrects the hardware
	s += math.Ldexp(float64(t.Offset)*unit, -(shiftPLL + int(t.Constant))) // systemd-timesyncd and ntpd slew by offset
	return slew(s)
}

const slewHint = "two members may work at once; limit the slewing (chrony: maxslewrate 1000; systemd-timesyncd: PollIntervalMinSec=512), or give a larger timing.drift"

// logSlew warns if the kernel presently slews this machine's clock by more than drift.
func logSlew(log *zap.Logger, drift float64) {
	switch s, err := slewing(); {
	case err != nil:
		log.Info("by how much the kernel slews this machine's clock is not known", zap.Error(err))
	case s.exceeds(drift):
		log.Warn("the kernel slews this machine's clock by more than timing.drift: "+slewHint,
			zap.Float64("rate", float64(s)), zap.Float64("drift", drift))
	}
}

// checkSlew compares the slew of this machine's clock with the configuration.
func (x *checking) checkSlew() {
	drift := x.process.Configuration.Timing.Drift
	switch s, err := slewing(); {
	case err != nil:
		x.say("clock", gradeWarning, "", "by how much the kernel slews the clock of this machine is not known: %v", err)
	case s.exceeds(drift):
		x.say("clock", gradeWarning, slewHint, "the kernel slews the clock of this machine by %+.0f ppm, more than timing.drift (%.0f ppm)", s.ppm(), slew(drift).ppm())
	default:
		x.say("clock", gradeFine, "", "the kernel slews the clock of this machine by %+.0f ppm, within timing.drift (%.0f ppm)", s.ppm(), slew(drift).ppm())
	}
}
