package app

import (
	"testing"
	"time"
)

func TestRound(t *testing.T) {
	for d, want := range map[time.Duration]string{
		59999998019: "1m0s", 154790512: "154.8ms", -1500000001: "-1.5s", 3 * time.Minute: "3m0s", 61400000000: "1m1s",
		123456: "123µs", 0: "0s", 20034567890: "20.03s", 999: "1µs",
	} {
		if got := round(d).String(); got != want {
			t.Errorf("%v: got %s, want %s", int64(d), got, want)
		}
	}
}
