package app

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zapcore"
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

// TestNobodyWaitsForTheLog checks that a log that nobody reads holds us up once, and not for long; that it goes on once
// somebody reads it, and says then how many lines are missing, and where.
func TestNobodyWaitsForTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		log := newLoggerTo(zapcore.AddSync(writer), "info", "json")
		began := time.Now()
		for _, what := range []string{"hangs", "is dropped", "is dropped, too"} {
			log.Info(what)
		}
		if took := time.Since(began); took != logPatience {
			t.Errorf("it took %v", took)
		}
		lines := make(chan string)
		go func() { // ends with the pipe
			defer close(lines)
			for in := bufio.NewScanner(reader); in.Scan(); {
				lines <- in.Text()
			}
		}()
		next := func(want string) {
			t.Helper()
			if got := <-lines; !strings.Contains(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		next(`"msg":"hangs"`)
		synctest.Wait()
		go func() { // joined by the reads below
			log.Info("is taken")
			log.Info("is taken, too")
			_ = writer.Close()
		}()
		next(`"lines":2`)
		next(`"msg":"is taken"`)
		next(`"msg":"is taken, too"`)
		if more, open := <-lines; open {
			t.Errorf("got %s too", more)
		}
		if took := time.Since(began); took != logPatience {
			t.Errorf("it took %v", took)
		}
	})
}
