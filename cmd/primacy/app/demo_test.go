package app

import (
	"context"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func demoEnvironment(deadline record.Instant) func(string) string {
	return func(name string) string {
		return map[string]string{
			"PRIMACY_ELECTION": "one", "PRIMACY_TOKEN": "42", "PRIMACY_MEMBER_REVISION": "stable",
			"PRIMACY_DEADLINE": strconv.FormatInt(int64(deadline), 10),
		}[name]
	}
}

// TestDemoWriter checks that the demo writer writes while its term lasts, and no longer.
func TestDemoWriter(t *testing.T) {
	for name, tt := range map[string]struct {
		extend bool // primacy extends the term once, by two seconds
		gone   bool // primacy ends after one and a half seconds
		stop   time.Duration
		writes int
		err    string
	}{
		"stopped":  {stop: 1500 * time.Millisecond, writes: 2},
		"expired":  {stop: time.Minute, writes: 3, err: "the deadline of token 42 has passed"},
		"extended": {extend: true, stop: time.Minute, writes: 5, err: "the deadline of token 42 has passed"},
		"orphaned": {gone: true, stop: time.Minute, writes: 2, err: "primacy is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				deadline := clocktest.Bubble{}.Now().Add(2500 * time.Millisecond)
				w, err := newDemoTerm(demoEnvironment(deadline), time.Second)
				if err != nil {
					t.Fatal(err)
				}
				pipe, primacy := io.Pipe()
				w.clock, w.extensions = clocktest.Bubble{}, pipe
				ctx, stop := context.WithTimeout(t.Context(), tt.stop)
				defer stop()
				if tt.extend {
					go func() {
						_, _ = io.WriteString(primacy, "nonsense\n"+strconv.FormatInt(int64(deadline.Add(2*time.Second)), 10)+"\n")
					}()
				}
				if tt.gone {
					clock.AfterFunc(1500*time.Millisecond, func() { _ = primacy.Close() })
				}
				var out strings.Builder
				err = w.write(ctx, &out)
				if got := strings.Count(out.String(), "one: write "); got != tt.writes {
					t.Errorf("%d writes, want %d:\n%s", got, tt.writes, &out)
				}
				if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
					t.Errorf("ended with %v, want %q", err, tt.err)
				}
				if err == nil && !strings.HasSuffix(out.String(), "one: stopped after 2 writes with token 42\n") {
					t.Errorf("wrote:\n%s", &out)
				}
				_ = primacy.Close() // ends the goroutine that reads
				synctest.Wait()
			})
		})
	}
}
