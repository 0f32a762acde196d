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
