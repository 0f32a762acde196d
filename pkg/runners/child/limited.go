package child

import (
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// Rate is how much of a program's words goes into the log, for each of its outputs, in all its
// runs together. What is more is dropped and counted.
type Rate struct {
	// Lines and Bytes are what may be logged each second, in the long run. After a quiet
	// time ten times as much may come at once, so that the trace of a crash is whole.
	Lines int `yaml:"linesPerSecond"`
	Bytes int `yaml:"bytesPerSecond"`
}

// Check says what cannot be, though it could be decoded; node is the block whose output it
// is. What was left out must have been set to DefaultRate before.
func (r Rate) Check(node *yaml.Node) (errs strict.Errors) {
	check := func(field string, n, fallback int) {
		if n <= 0 {
			at, _ := strict.Lookup(node, field)
			errs = append(errs, strict.NewError(at, field, fmt.Sprintf("%d is not more than 0", n), fmt.Sprintf("leave it out to get %d", fallback)))
		}
	}
	check("output.linesPerSecond", r.Lines, DefaultRate.Lines)
	check("output.bytesPerSecond", r.Bytes, DefaultRate.Bytes)
	return errs
}

// DefaultRate is what stands for a Rate that is not set.
var DefaultRate = Rate{Lines: 500, Bytes: 128 << 10}

const (
	burst = 10
	// refillEvery is when more may be said, and when it is told how much was dropped.
	refillEvery = time.Second
)

func (r Rate) orDefault() Rate {
	if r.Lines <= 0 {
		r.Lines = DefaultRate.Lines
	}
	if r.Bytes <= 0 {
		r.Bytes = DefaultRate.Bytes
	}
	return r
}

// Limited is a log that takes so much and no more. Who writes to it waits for nothing, also
// not for a log that hangs, and what waits to be logged is never more than a burst.
//
// Writing is safe from any goroutine. One goroutine of its own writes to the log until Close.
type Limited struct {
	log    *zap.Logger
	rate   Rate
	budget *Budget
	wake   chan struct{}
	done   sync.WaitGroup

	mu      sync.Mutex
	waiting []entry
	// left is what may be said before the next refill. The last line may make its bytes
	// negative. filled is when it was last refilled.
	left    Rate
	filled  record.Instant
	dropped dropped
	closed  bool
}

type entry struct {
	level   zapcore.Level
	message string
	fields  []zap.Field
	// cut: its words were longer than what is kept of them.
	cut bool
}

type dropped struct{ lines, bytes int }

// NewLimited makes a log of a log. Close must be called: it gives back what is left.
func NewLimited(log *zap.Logger, budget *Budget) *Limited {
	l := &Limited{log: log, rate: budget.rate, budget: budget, wake: make(chan struct{}, 1)}
	l.left, l.filled = budget.take()
	l.done.Go(l.write)
	return l
}

// Say logs a message with a field that holds the program's own words; what is beyond
// 64 KiB of those is cut off. Without a key there is no such field. It may be dropped.
func (l *Limited) Say(level zapcore.Level, message, key, words string) {
	e := entry{level: level, message: message, cut: len(words) > maxLine}
	l.say(e, key, min(len(words), maxLine), func() string { return Words(words) })
}

// say makes no string of what is dropped.
func (l *Limited) say(e entry, key string, size int, words func() string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if l.spent() {
		l.dropped.lines++
		l.dropped.bytes += size
		return
	}
	l.left.Lines--
	l.left.Bytes -= size
	if key != "" {
		e.fields = append(e.fields, zap.String(key, words()))
	}
	if e.cut {
		e.fields = append(e.fields, zap.Bool("cut", true))
	}
	l.waiting = append(l.waiting, e)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// full says that what is said now would be dropped.
func (l *Limited) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent()
}

// spent says whether nothing is left. l.mu is held.
func (l *Limited) spent() bool { return l.left.Lines <= 0 || l.left.Bytes <= 0 }

// drop counts what was dropped unread.
func (l *Limited) drop(lines, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped.lines += lines
	l.dropped.bytes += bytes
}

// Close logs what waits, and returns when that is done. What is said later is lost.
func (l *Limited) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.wake)
		l.budget.put(l.left, l.filled)
	}
	l.mu.Unlock()
	l.done.Wait()
}

// write logs what waits. It sleeps while nothing is said.
func (l *Limited) write() {
	timer := clock.NewTimer(refillEvery)
	defer timer.Stop()
	ticking := true // what an earlier run has used up comes back though nothing can be said yet
	for {
		open := true
		select {
		case _, open = <-l.wake:
		case <-timer.C:
			ticking = false
			l.report()
			if !l.refill() {
				ticking = true
				timer.Reset(refillEvery)
			}
			continue
		}
		for _, e := range l.take() {
			l.log.Log(e.level, e.message, e.fields...)
		}
		if !open {
			l.report()
			return
		}
		if !ticking {
			ticking = true
			timer.Reset(refillEvery)
		}
	}
}

func (l *Limited) take() []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.waiting
	l.waiting = nil
	return batch
}

// refill lets more be said, and says whether as much may be said as ever. It is called by
// who writes to the log, so a log that is slow gets no more than it takes.
func (l *Limited) refill() (full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left, l.filled = l.rate.refilled(l.left), l.budget.clock.Now()
	return l.left == l.rate.most()
}

// report tells what was dropped since the last report, if anything was.
func (l *Limited) report() {
	l.mu.Lock()
	d := l.dropped
	l.dropped = dropped{}
	l.mu.Unlock()
	if d.lines+d.bytes > 0 {
		l.log.Warn("output dropped: it comes faster than it may be logged",
			zap.Int("lines", d.lines), zap.Int("bytes", d.bytes),
			zap.Int("linesPerSecond", l.rate.Lines), zap.Int("bytesPerSecond", l.rate.Bytes))
	}
}
