package clock

import (
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// interruptTime counts from the start of the machine, its sleep included, in units of 100 ns.
var interruptTime = windows.NewLazySystemDLL("kernelbase.dll").NewProc("QueryInterruptTimePrecise")

const interruptUnit = 100

func bootInstant() record.Instant {
	var units uint64
	_, _, _ = interruptTime.Call(uintptr(unsafe.Pointer(&units))) // #nosec G103 -- it fills in the number; it returns nothing
	return record.Instant(units * interruptUnit)                  // #nosec G115 -- it overflows after 292 years
}
