package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/internal/judge"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// linger is how long work goes on after it was told to stop.
const linger = 200 * time.Millisecond

// trial is one act, committed on the lock of an election of its own.
type trial struct {
	act      act
	during   situation // zero for an act on a session
	kind     kind
	crew     *crew
	election string
	// released is a copy of the object from before anybody led, earlier one from the term before the act.
	released, earlier object

	// Under the crew's lock.
	spans  []*judge.Span
	latest lock.Entry
	// beats counts the renewals of the present holder that were seen.
	beats int

	// spansBy is how many spans there were when all was well again.
	spansBy int
	until   time.Time

	// at and wall are when the act was committed. before is how many spans there were by then.
	// refused is the API server's error if it refused the act.
	at      record.Instant
	wall    time.Time
	before  int
	refused error
}

func (tr *trial) String() string {
	return fmt.Sprintf("%s (%s, %s)", tr.act.name, tr.kind, tr.election)
}

// seed leaves the lock as a member that has left leaves it.
func (tr *trial) seed(ctx context.Context) error {
	store := tr.crew.leases
	if tr.kind == inConfigMap {
		store = tr.crew.maps
	}
	if _, err := store.Put(ctx, tr.election, leftFree(tr.election), record.Version{}); err != nil {
		return err
	}
	var err error
	tr.released, err = tr.crew.raw.get(ctx, tr.kind, tr.election)
	return err
}

// runner is work that records when it begins and ends.
func (tr *trial) runner(member string) election.Runner {
	return election.RunnerFunc(func(ctx context.Context, term election.Term) error {
		s := &judge.Span{Member: member, Token: term.Token, Begin: tr.crew.clock.Now()}
		tr.crew.locked(func() { tr.spans = append(tr.spans, s) })
		<-ctx.Done()
		tr.crew.locked(func() { s.Told = tr.crew.clock.Now() })
		<-time.After(linger)
		tr.crew.locked(func() { s.Till = tr.crew.clock.Now() })
		return nil
	})
}

func (tr *trial) see(e lock.Entry) {
	before := tr.latest
	tr.latest = e
	if e.Record != nil && e.Record.Bound() && e.Record.Holder != "" &&
		(before.Record == nil || before.Record.Mark == nil || before.Record.Mark.Beat != e.Record.Mark.Beat || before.Record.Holder != e.Record.Holder) {
		tr.beats++
	}
}

// renewed waits until n more renewals were seen.
func (tr *trial) renewed(ctx context.Context, n int) error {
	from := -1
	return tr.crew.await(ctx, tr.String()+": renewed", func() bool {
		if from < 0 {
			from = tr.beats
		}
		return tr.beats >= from+n
	})
}

// led waits until somebody's work has begun.
func (tr *trial) led(ctx context.Context) error {
	return tr.crew.await(ctx, tr.String()+": led", func() bool { return len(tr.spans) > tr.before })
}

// turn lets four acts be committed at a time, so that the times measured don't depend on how
// fast the API server carries all of them out.
var turn = make(chan struct{}, 4)

// commit does the act.
func (tr *trial) commit(ctx context.Context) error {
	if !tr.act.lasting {
		turn <- struct{}{}
		defer func() { <-turn }()
	}
	tr.at, tr.wall = tr.crew.clock.Now(), time.Now()
	tr.crew.mu.Lock()
	tr.before = len(tr.spans)
	tr.crew.mu.Unlock()
	err := tr.act.do(ctx, tr)
	if refused(err) {
		tr.refused, err = err, nil
	}
	if err != nil {
		return fmt.Errorf("%v: %w", tr, err)
	}
	return nil
}

// edit changes the lock's object as a stranger.
func (tr *trial) edit(ctx context.Context, change func(object)) error {
	return tr.crew.raw.edit(ctx, tr.kind, tr.election, change)
}

// settled waits until the election is led as if nothing had happened: by a term that
// began after the act and was renewed, or by the old one, renewed twice.
func (tr *trial) settled(ctx context.Context) error {
	from := -1
	began := 0
	defer func() { tr.until = time.Now() }()
	return tr.crew.await(ctx, tr.String()+": led again, or still", func() bool {
		if from < 0 || len(tr.spans) > began {
			from, began = tr.beats, len(tr.spans)
		}
		if began == 0 || tr.spans[began-1].Told != 0 {
			return false
		}
		tr.spansBy = began
		return tr.beats >= from+2 && tr.mended() == ""
	})
}

// mended says what is still wrong with the record; empty when nothing is.
func (tr *trial) mended() string {
	r := tr.latest.Record
	switch {
	case r == nil:
		return "no object"
	case r.Unreadable != "":
		return "unreadable: " + r.Unreadable
	case !r.Bound() || r.Holder == "":
		return "not bound"
	case r.Token != tr.spans[len(tr.spans)-1].Token:
		return fmt.Sprintf("token %d", r.Token)
	case r.Duration != 5*time.Second || r.Mark.Duration != 5*time.Second:
		return fmt.Sprintf("durations %v, %v", r.Duration, r.Mark.Duration)
	case r.Claim != nil || r.HandoverTo != "" && r.HandoverTo != nobody || r.Member != nil: // nobody's name is a request that stays for the term
		return "a claim, a nominee or a member"
	case r.Group != group || r.Election != tr.election:
		return fmt.Sprintf("labels %q, %q", r.Group, r.Election)
	}
	return ""
}

// result is what became of an act.
type result struct {
	name, kind string
	// holder is what became of the term during which the act was committed.
	holder string
	// stopped is how long after the act the term's work was told to stop, led how long after the
	// act the next term began. Zero if that did not happen.
	stopped, led, overlap time.Duration
	reported              string
	// slow: the term ended because the machine was too busy to renew it.
	slow bool
}

// result sums up the trial. Call it once all members have left.
func (tr *trial) result() (result, error) {
	res := result{name: tr.act.name, kind: string(tr.kind), holder: "–"}
	var spans []judge.Span
	for _, s := range tr.spans {
		spans = append(spans, *s)
	}
	res.overlap = judge.Overlapping(spans)
	if tr.spansBy > tr.before {
		res.led = spans[tr.before].Begin.Sub(tr.at)
	}
	if tr.before > 0 {
		res.holder = "goes on"
		if tr.spansBy > tr.before {
			res.holder, res.stopped = "stops", spans[tr.before-1].Told.Sub(tr.at)
		}
	}
	res.reported = tr.reports()
	res.slow = res.reported == tooLate || tr.before > 0 && spans[tr.before-1].Told != 0 && spans[tr.before-1].Told < tr.at
	if tr.refused != nil {
		res.holder, res.reported = "the API server refuses it", ""
	}
	var errs []error
	for _, f := range judge.Falling(spans) {
		errs = append(errs, fmt.Errorf("%v: %s", tr, f))
	}
	if res.overlap > 0 && tr.act.outside == "" {
		errs = append(errs, fmt.Errorf("%v: two at work for %v: %+v", tr, res.overlap, spans))
	}
	if len(spans) > 0 && spans[0].Token <= leftFree("").Token {
		errs = append(errs, fmt.Errorf("%v: token %d after %d", tr, spans[0].Token, leftFree("").Token))
	}
	if tr.during == led && res.holder == "stops" && res.reported == "" && tr.act.outside == "" && !res.slow {
		errs = append(errs, fmt.Errorf("%v: nobody said anything", tr))
	}
	return res, errors.Join(errs...)
}

// reports is what the members' logs said of the election from the act until it was led.
func (tr *trial) reports() string {
	var said []string
	for _, e := range tr.crew.reported(tr.election, tr.wall, tr.until) {
		context := e.ContextMap()
		text := e.Message
		switch reason, _ := context["reason"].(string); {
		case e.Level >= zap.WarnLevel:
			if detail, _ := context["detail"].(string); detail != "" {
				text += ": " + shown(detail)
			}
		case alarming(reason):
			text = reason
		default:
			continue
		}
		if !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	slices.Sort(said)
	return strings.Join(said, "; ")
}

var random = regexp.MustCompile(`_[0-9a-f]{8}|x{20,}`)

// shown is a log's detail, shortened, and without the parts that differ from run to run.
func shown(detail string) string {
	return random.ReplaceAllStringFunc(detail, func(s string) string { return s[:1] + "…" })
}

// tooLate is the reason of a term that ended because it was not renewed.
const tooLate = "not renewed in time"

// alarming says whether a role changed for a reason that nobody wants.
func alarming(reason string) bool {
	for _, r := range []string{"claimed", "corrupt", "lost", "deleted", "forced", "session", tooLate} {
		if strings.Contains(reason, r) {
			return true
		}
	}
	return false
}

var ours = []string{
	codec.HolderAnnotation, codec.TokenAnnotation, codec.HandoverAnnotation, codec.ClaimAnnotation,
	codec.HistoryAnnotation, codec.MemberAnnotation, codec.BeatAnnotation,
}
