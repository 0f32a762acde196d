//go:build linux

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

// Rate bounds how much each output of a program may log, over all its runs together. What exceeds it
// is dropped and counted. After a quiet time ten times as much may come at once, so that the log has the
// whole trace of a crash.
type Rate struct {
	// Lines a second in the long run. More than 0, and 1000000000 at most.
	Lines int `yaml:"linesPerSecond" min:">0" max:"1000000000"`
	// Bytes a second in the long run. More than 0, and 1000000000 at most.
	Bytes int `yaml:"bytesPerSecond" min:">0" max:"1000000000"`
}

// Check reports values that decode but make no sense; node is the block that holds `output`. Set
// missing fields to DefaultRate's first.
func (r Rate) Check(node *yaml.Node) (errs strict.Errors) {
	check := func(field string, n, fallback int) {
		var wrong string
		switch {
		case n <= 0:
			wrong = fmt.Sprintf("%d is not more than 0", n)
		case n > mostRate:
			wrong = fmt.Sprintf("%d is more than %d", n, mostRate)
		default:
			return
		}
		at, _ := strict.Lookup(node, field)
		errs = append(errs, strict.NewError(at, field, wrong, fmt.Sprintf("leave it out to get %d", fallback)))
	}
	check("output.linesPerSecond", r.Lines, DefaultRate.Lines)
	check("output.bytesPerSecond", r.Bytes, DefaultRate.Bytes)
	return errs
}

// DefaultRate applies where no Rate is set.
var DefaultRate = Rate{Lines: 500, Bytes: 128 << 10}

const (
	burst = 10
	// mostRate bounds both fields of a Rate: more than one burst of it must fit into an int.
	mostRate = 1_000_000_000
	// refillEvery is the time between refills, and between reports of what was dropped.
	refillEvery = time.Second
)

// orDefault returns the rate that applies: nobody need have checked r.
func (r Rate) orDefault() Rate {
	if r.Lines <= 0 {
		r.Lines = DefaultRate.Lines
	}
	if r.Bytes <= 0 {
		r.Bytes = DefaultRate.Bytes
	}
	return Rate{min(r.Lines, mostRate), min(r.Bytes, mostRate)}
}

// Limited is a log with a bounded rate. A writer never waits, even if the log hangs, and at most one
// burst of messages is queued.
//
// Any goroutine may write. Limited starts one goroutine that writes to the log until Close. If the log is slow then, or
// hangs, that goroutine goes on alone until the log has taken the line in hand, and one that counts what was dropped.
type Limited struct {
	log    *zap.Logger
	rate   Rate
	budget *Budget
	wake   chan struct{}
	// done is closed when the goroutine has ended.
	done chan struct{}

	mu      sync.Mutex
	waiting []entry
	// left is what may be logged before the next refill; the last line may make left.Bytes negative.
	// filled is when left was last refilled.
	left    Rate
	filled  record.Instant
	dropped dropped
	closed  bool
	// late: Close gave up what the log had not taken.
	late bool
}

type entry struct {
	level   zapcore.Level
	message string
	fields  []zap.Field
	// cut: the program's words were longer than maxLine.
	cut bool
	// size is how many bytes of them there are.
	size int
}

type dropped struct{ lines, bytes int }

// NewLimited wraps a log. The caller must call Close, which gives the rest of the budget back.
func NewLimited(log *zap.Logger, budget *Budget) *Limited {
	l := &Limited{log: log, rate: budget.rate, budget: budget, wake: make(chan struct{}, 1), done: make(chan struct{})}
	l.left, l.filled = budget.take()
	go l.write() // Close waits for it, for closeFor at most
	return l
}

// Say logs a message. words, the program's own text, goes into the field key, cut after 64 KiB; with
// an empty key the message has no such field. Say may drop the message.
func (l *Limited) Say(level zapcore.Level, message, key, words string) {
	e := entry{level: level, message: message, cut: len(words) > maxLine}
	l.say(e, key, min(len(words), maxLine), func() string { return Words(words) })
}

// say calls words only if it does not drop the message.
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
	e.size = size
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

// full says whether a message would be dropped now.
func (l *Limited) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent()
}

// spent says whether nothing is left. l.mu is held.
func (l *Limited) spent() bool { return l.left.Lines <= 0 || l.left.Bytes <= 0 }

// drop counts lines that the caller dropped without a call of say.
func (l *Limited) drop(lines, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped.lines += lines
	l.dropped.bytes += bytes
}

// closeFor is how long Close waits for the log.
const closeFor = time.Second / 2

// mostAhead is about how many bytes of a log's own queue one Limited fills before it waits for the log: others need the queue, too.
// A line has lineCost beside the program's words.
const (
	mostAhead = 16 << 10
	lineCost  = 200
)

// Close logs the queued messages, and then returns. It waits no longer than half a second for the log: whoever waits for
// the end of a run waits for Close. It drops, and counts, what the log has not taken by then. Later messages are lost.
func (l *Limited) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.wake)
		l.budget.put(l.left, l.filled)
	}
	l.mu.Unlock()
	timer := clock.NewTimer(closeFor)
	defer timer.Stop()
	select {
	case <-l.done:
	case <-timer.C:
		l.giveUp()
	}
}

// giveUp drops what waits for the log.
func (l *Limited) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = true
	for _, e := range l.waiting {
		l.dropped.lines++
		l.dropped.bytes += e.size
	}
	l.waiting = nil
}

// write logs queued messages. It sleeps while there are none.
func (l *Limited) write() {
	defer close(l.done)
	timer := clock.NewTimer(refillEvery)
	defer timer.Stop()
	ahead := 0
	ticking := true // an earlier run may have spent the budget: refill even before the first message
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
		for e, ok := l.take(); ok; e, ok = l.take() {
			l.log.Log(e.level, e.message, e.fields...)
			if ahead += lineCost + e.size; ahead >= mostAhead {
				_ = l.log.Sync() // a log that fails has nowhere to say so
				ahead = 0
			}
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

// take takes the next message, if there is one.
func (l *Limited) take() (next entry, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.waiting = nil // give the memory back
		return entry{}, false
	}
	next, l.waiting = l.waiting[0], l.waiting[1:]
	return next, true
}

// refill refills the budget, and says whether it is full again. The goroutine that writes to the log
// calls it, so a log that is too slow delays the refills too, and the queue stays short.
func (l *Limited) refill() (full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left, l.filled = l.rate.refilled(l.left), l.budget.clock.Now()
	return l.left == l.rate.most()
}

// report logs what was dropped since the last report, if anything.
func (l *Limited) report() {
	l.mu.Lock()
	d, message := l.dropped, "output dropped: it exceeds the log rate"
	if l.late {
		message = "output dropped: the log did not take it in time when the run ended"
	}
	l.dropped = dropped{}
	l.mu.Unlock()
	if d.lines+d.bytes > 0 {
		l.log.Warn(message,
			zap.Int("lines", d.lines), zap.Int("bytes", d.bytes),
			zap.Int("linesPerSecond", l.rate.Lines), zap.Int("bytesPerSecond", l.rate.Bytes))
	}
}
