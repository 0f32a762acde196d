package app

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
)

// answerTimes is how an API server answers.
type answerTimes struct {
	// took is how long the slowest of a few answers took.
	took time.Duration
	// least and most bound by how much our clock is ahead of the server's; both are zero if it does not say its time.
	least, most time.Duration
	dated       bool
}

// answersTaken is how many answers askTimes waits for.
const answersTaken = 3

// askTimes asks an API server for its version a few times.
func askTimes(ctx context.Context, c *rest.Config) (t answerTimes, err error) {
	client, err := apiserver.HTTPClientFor(c)
	if err != nil {
		return t, fmt.Errorf("client for %s: %w", c.Host, err)
	}
	server, _, err := rest.DefaultServerUrlFor(c)
	if err != nil {
		return t, fmt.Errorf("address of the API server: %w", err)
	}
	var took []time.Duration
	for range answersTaken {
		began := time.Now()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.JoinPath("version").String(), nil)
		if err != nil {
			return t, err
		}
		answer, err := client.Do(request)
		if err != nil {
			return t, fmt.Errorf("API server %s: %w", c.Host, cause(err))
		}
		_ = answer.Body.Close() // we read the head only
		ended := time.Now()
		took = append(took, ended.Sub(began))
		if said, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
			t.bound(began.Sub(said.Add(time.Second)), ended.Sub(said))
		}
	}
	t.took = slices.Max(took)
	return t, nil
}

// bound takes in that our clock was ahead by at least one time and at most another. The server says its time in whole
// seconds.
func (t *answerTimes) bound(least, most time.Duration) {
	if !t.dated {
		t.least, t.most, t.dated = least, most, true
		return
	}
	t.least, t.most = max(t.least, least), min(t.most, most)
}

// checkServer asks the API server, and compares its answers with the timings of the configuration. The error says that
// it does not answer.
func (x *checking) checkServer(ctx context.Context) error {
	t, err := askTimes(ctx, x.cluster.config)
	if err != nil {
		return err
	}
	x.checkTimes(t)
	return nil
}

// checkTimes compares the answers of an API server with the timings of the configuration.
func (x *checking) checkTimes(t answerTimes) {
	took := t.took.Round(time.Millisecond)
	x.say("reach", gradeFine, "", "API server %s answers within %v", x.cluster.config.Host, took)
	switch {
	case !t.dated:
		x.say("clock", gradeWarning, "", "the API server does not say what time it is")
	case t.least > 0:
		x.say("clock", gradeWarning, clockHint, "the clock of this machine is ahead of the API server's by %v or more", t.least.Round(time.Second))
	case t.most < 0:
		x.say("clock", gradeWarning, clockHint, "the clock of this machine is behind the API server's by %v or more", -t.most.Round(time.Second))
	default:
		x.say("clock", gradeFine, "", "the clocks of this machine and of the API server agree to within %v", max(-t.least, t.most).Round(time.Millisecond))
	}
	if x.process.Configuration == nil {
		x.say("arithmetic", gradeWarning, "give --config", "without a configuration it is not known how fast the API server must be")
		return
	}
	var slow []string
	least := x.process.Configuration.Timing.Outage()
	for _, e := range x.process.Configuration.Elections {
		least = min(least, e.Timing.Outage())
		if e.Timing.Outage()/2 < t.took {
			slow = append(slow, e.Name)
		}
	}
	if slow != nil || x.process.Configuration.Timing.Outage()/2 < t.took {
		x.say("arithmetic", gradeProblem, "primacy validate shows the arithmetic; choose longer timings, or a faster API server",
			"an answer took %v, more than half of the outage that a term survives (%v)%s", took, least, named(slow))
		return
	}
	x.say("arithmetic", gradeFine, "", "a term survives an outage of %v, and an answer took %v", least, took)
}

const clockHint = "elections do not depend on it; times that commands show, pauses and the ends of --for do"

func named(elections []string) string {
	if elections == nil {
		return ""
	}
	const shown = 5
	more := ""
	if len(elections) > shown {
		elections, more = elections[:shown], ", ..."
	}
	return ": " + strings.Join(elections, ", ") + more
}
