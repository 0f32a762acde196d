package watchfile

import (
	"testing"
	"time"
)

// TestALookIsNotPutOffForEver checks that we look at the file even if other files in its directory
// change all the time.
func TestALookIsNotPutOffForEver(t *testing.T) {
	s := stirring{settle: time.Second}
	begin := time.Unix(1000, 0)
	for at, want := range []bool{true, true, true, true, true, true, true, true, true, true, false, false} {
		if got := s.putsOff(begin.Add(time.Duration(at) * time.Second)); got != want {
			t.Errorf("after %d s of stirring the look is put off: %v, want %v", at, got, want)
		}
	}
	s.since = time.Time{} // as after a look
	if !s.putsOff(begin.Add(time.Minute)) {
		t.Error("the next event puts off nothing")
	}
}
