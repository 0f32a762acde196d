//go:build linux

package child

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// count returns how many lines were logged, and how many were reported as dropped.
func count(logs *observer.ObservedLogs) (logged, dropped, bytes, reports int) {
	for _, e := range logs.All() {
		if e.Message == "output" {
			logged++
			continue
		}
		reports++
		dropped += int(e.ContextMap()["lines"].(int64))
		bytes += int(e.ContextMap()["bytes"].(int64))
	}
	return logged, dropped, bytes, reports
}

func say(l *Limited, n int) {
	for range n {
		l.Say(zap.InfoLevel, "output", "line", "0123456789")
	}
}

func TestRate(t *testing.T) {
	for name, rate := range map[string]Rate{"lines": {Lines: 20, Bytes: 1 << 20}, "bytes": {Lines: 1 << 20, Bytes: 200}} {
		synctest.Test(t, func(t *testing.T) {
			core, logs := observer.New(zap.InfoLevel)
			l := NewLimited(zap.New(core), NewBudget(rate, virtual()))
			defer l.Close()
			see := func(when string, wantLogged, wantDropped, wantReports int) {
				t.Helper()
				synctest.Wait()
				logged, dropped, bytes, reports := count(logs)
				if logged != wantLogged || dropped != wantDropped || bytes != 10*wantDropped || reports != wantReports {
					t.Errorf("%s, %s: %d lines are logged, and %d (%d bytes) told to be dropped in %d lines, want %d, %d, %d",
						name, when, logged, dropped, bytes, reports, wantLogged, wantDropped, wantReports)
				}
			}
			say(l, 1000)
			see("at once", 200, 0, 0)
			after(refillEvery)
			see("after a second", 200, 800, 1)
			say(l, 1000)
			after(refillEvery)
			see("after another", 220, 1780, 2)
			after(5 * refillEvery)
			see("when nothing more was dropped", 220, 1780, 2)
			say(l, 1000)
			l.Close()
			see("at the end", 340, 2660, 3)
			l.Say(zap.InfoLevel, "output", "line", "late")
			see("after the end", 340, 2660, 3)
		})
	}
}

func pending(l *Limited) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

func after(d time.Duration) {
	synctest.Wait()
	time.Sleep(d)
	synctest.Wait()
}

// hanging is a log that takes nothing until the test lets it.
type hanging struct {
	zapcore.Core
	gate chan struct{}
}

func (h hanging) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return c.AddCore(e, h)
}

func (h hanging) Write(e zapcore.Entry, f []zapcore.Field) error {
	<-h.gate
	return h.Core.Write(e, f)
}

// TestLogThatHangs checks that writers don't wait, and that the queue stays short, while the log
// hangs.
func TestLogThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		gate := make(chan struct{})
		l := NewLimited(zap.New(hanging{core, gate}), NewBudget(Rate{Lines: 20, Bytes: 1 << 20}, virtual()))
		const all = 100_000
		say(l, 1)
		synctest.Wait()
		for range 10 {
			say(l, all/10)
			after(refillEvery) // the test ends in a deadlock if a writer waits
		}
		if n := pending(l); n > 200 {
			t.Errorf("%d lines wait for the log", n)
		}
		close(gate)
		l.Close()
		if logged, dropped, _, _ := count(logs); logged+dropped != all+1 {
			t.Errorf("%d lines were logged and %d dropped of %d", logged, dropped, all+1)
		}
	})
}

// TestLogThatIsSlow checks that the queue stays short if the log is slower than the rate.
func TestLogThatIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, _ := observer.New(zap.InfoLevel)
		l := NewLimited(zap.New(slow{core}), NewBudget(Rate{Lines: 20, Bytes: 200}, virtual()))
		for range 1000 {
			say(l, 100)
			time.Sleep(100 * time.Millisecond)
			if n := pending(l); n > 200 {
				t.Fatalf("%d lines wait for the log", n)
			}
		}
		l.Close()
		<-l.done
	})
}

// TestEndDoesNotAwaitASlowLog checks that the end of a run waits for a slow log, and for one that hangs, for a bounded time
// in total, and that the lines that the log did not take are counted.
func TestEndDoesNotAwaitASlowLog(t *testing.T) {
	for name, log := range map[string]func(zapcore.Core, chan struct{}) zapcore.Core{
		"slow":  func(c zapcore.Core, _ chan struct{}) zapcore.Core { return slow{c} },
		"hangs": func(c zapcore.Core, gate chan struct{}) zapcore.Core { return hanging{c, gate} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				core, logs := observer.New(zap.InfoLevel)
				gate := make(chan struct{})
				l := NewLimited(zap.New(log(core, gate)), NewBudget(Rate{Lines: 20, Bytes: 1 << 20}, virtual()))
				const all = 100
				say(l, all)
				begun := time.Now()
				l.Close()
				if took := time.Since(begun); took > closeFor {
					t.Errorf("the end took %v", took)
				}
				close(gate)
				<-l.done
				logged, dropped, bytes, reports := count(logs)
				if logged+dropped != all || bytes != 10*dropped || reports != 1 || logged > 3 {
					t.Errorf("%d lines are logged, and %d (%d bytes) told to be dropped in %d lines, of %d", logged, dropped, bytes, reports, all)
				}
			})
		})
	}
}

// slow is a log that takes five lines a second.
type slow struct{ zapcore.Core }

func (s slow) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return c.AddCore(e, s)
}

func (s slow) Write(e zapcore.Entry, f []zapcore.Field) error {
	time.Sleep(200 * time.Millisecond)
	return s.Core.Write(e, f)
}

// queuing is a log that keeps lines until Sync writes them.
type queuing struct {
	zapcore.LevelEnabler
	bytes, most int
}

func (q *queuing) With([]zapcore.Field) zapcore.Core { return q }

func (q *queuing) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return c.AddCore(e, q)
}

func (q *queuing) Write(_ zapcore.Entry, f []zapcore.Field) error {
	for _, field := range f {
		q.bytes += len(field.String)
	}
	q.most = max(q.most, q.bytes)
	return nil
}

func (q *queuing) Sync() error {
	time.Sleep(time.Millisecond)
	q.bytes = 0
	return nil
}

// TestALogThatQueuesIsNotFlooded checks that one output fills little of the queue that a log has for all.
func TestALogThatQueuesIsNotFlooded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queuing{LevelEnabler: zap.InfoLevel}
		l := NewLimited(zap.New(q), NewBudget(Rate{}, virtual()))
		for range 1000 {
			l.Say(zap.InfoLevel, "output", "line", strings.Repeat("x", 1000))
		}
		l.Close()
		if <-l.done; q.most == 0 || q.most > mostAhead+1000 {
			t.Errorf("%d bytes were queued at once, want about %d", q.most, mostAhead)
		}
	})
}

// TestFloodIsCounted checks that every line of a flood is either logged or counted, and its bytes
// too.
func TestFloodIsCounted(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	o, theirs, err := NewOutput(zap.New(core), "stdout", NewBudget(Rate{}, clock.Boottime()))
	if err != nil {
		t.Fatal(err)
	}
	const all = 400_000
	var text strings.Builder
	total := 0
	for i := range all {
		line := fmt.Sprintf("line %d of many", i)
		total += len(line)
		text.WriteString(line + "\n")
	}
	if _, err := theirs.WriteString(text.String()); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	o.reader.Wait()
	o.End()
	logged, dropped, bytes, reports := count(logs)
	for _, e := range logs.All() {
		if e.Message == "output" {
			bytes += len(e.ContextMap()["line"].(string))
		}
	}
	if logged+dropped != all || bytes != total || reports == 0 || dropped == 0 {
		t.Errorf("%d logged and %d dropped (%d bytes) in %d reports, want %d lines, %d bytes", logged, dropped, bytes, reports, all, total)
	}
}

// BenchmarkFlood measures what it costs to read lines that are dropped.
func BenchmarkFlood(b *testing.B) {
	chunk := []byte(strings.Repeat(strings.Repeat("x", 79)+"\n", 800))
	o, theirs, err := NewOutput(zap.NewNop(), "stdout", NewBudget(Rate{}, clock.Boottime()))
	if err != nil {
		b.Fatal(err)
	}
	defer o.End()
	defer func(f *os.File) { _ = f.Close() }(theirs)
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		if _, err := theirs.Write(chunk); err != nil {
			b.Fatal(err)
		}
	}
}
