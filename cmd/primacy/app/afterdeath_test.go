package app

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zapcore"
)

// TestParentsDoNotWaitForTheirLog checks that a log that nobody reads holds a parent up once, and not for long.
func TestParentsDoNotWaitForTheirLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		log := newLoggerTo(&impatient{to: zapcore.AddSync(writer)}, "info", "json")
		line := make([]byte, 1<<10)
		read := make(chan int, 1)
		go func() { // joined by the receive from read
			n, _ := reader.Read(line)
			read <- n
		}()
		began := time.Now()
		log.Info("taken")
		if n := <-read; n == 0 || time.Since(began) != 0 {
			t.Errorf("%d bytes were read after %v", n, time.Since(began))
		}
		for range 3 {
			log.Info("not taken")
		}
		if took := time.Since(began); took != logPatience {
			t.Errorf("it took %v", took)
		}
		_ = reader.Close()
	})
}
