package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/scenario"
)

// played is the output of `primacy simulate -o json`.
type played struct {
	Members []struct {
		Name         string
		LeadsAtStart []string
	}
	Elections []struct{ Name, Leader string }
	Overlaps  []struct{ Election string }
	Moves     []struct {
		Election                     string
		StoppedAtSeconds, GapSeconds float64
		To                           string
	}
}

// course is what happened to an election's leadership after an event: when work
// stopped, when it began again, and who leads in the end.
type course struct {
	stops, moves bool
	stop, resume time.Duration
	leader       string
}

// words describe the course without its times.
func (c course) words() string {
	switch {
	case !c.stops:
		return "goes on with " + c.leader
	case !c.moves:
		return "stops, and nobody leads"
	}
	return "stops, and is led by " + c.leader + " in the end"
}

// simulated are the possible courses of each election in a scenario, by election and first leader.
func simulated(t *testing.T, document string, happens scenario.Event) map[string][]course {
	t.Helper()
	a := add(nil)
	a.runners.Register("work", newBubble(t).workKind("simulated"))
	all := map[string][]course{}
	for seed := range uint64(60) {
		var out bytes.Buffer
		s := simulation{file: "-", members: "red=1,green=1", events: happenings{list: []scenario.Event{happens}}, length: 2 * time.Minute, seed: seed, output: new(outputJSON)}
		document := strings.Replace(bubbleHead+document, "member: {", "member: {revision: red, ", 1)
		failed := s.run(t.Context(), a, strings.NewReader(document), &out)
		var p played
		if err := json.Unmarshal(out.Bytes(), &p); err != nil {
			t.Fatal(failed, err)
		}
		for _, o := range p.Overlaps {
			t.Errorf("seed %d: %v: %+v", seed, failed, o)
		}
		first := map[string]string{}
		for _, m := range p.Members {
			for _, e := range m.LeadsAtStart {
				first[e] = m.Name
			}
		}
		for _, e := range p.Elections {
			c := course{leader: e.Leader}
			for _, m := range p.Moves {
				if m.Election != e.Name || c.stops {
					continue
				}
				c.stops, c.moves = true, m.To != ""
				c.stop = time.Duration(m.StoppedAtSeconds*float64(time.Second)) - happens.At
				c.resume = c.stop + time.Duration(m.GapSeconds*float64(time.Second))
			}
			key := e.Name + " of " + first[e.Name]
			all[key] = append(all[key], c)
		}
	}
	return all
}

// courseSince is the course of the named work since a time.
func (j *journal) courseSince(work string, since time.Time) (c course) {
	workers := j.workers(work)
	j.mu.Lock()
	defer j.mu.Unlock()
	var stop time.Time
	for _, s := range j.work[work] {
		if !s.till.IsZero() && !s.till.Before(since) && !c.stops {
			c.stops, stop = true, s.till
			c.stop = stop.Sub(since)
		}
	}
	for _, s := range j.work[work] {
		if c.stops && !c.moves && !s.from.Before(stop) {
			c.moves, c.resume = true, s.from.Sub(since)
		}
	}
	c.leader = strings.Join(workers, " and ")
	return c
}

// agree compares what happened with the predictions. Times are partly random, and so is the next leader
// after an outage. So what happened must equal one of the predicted courses, within half a renewInterval.
func (y *tally) agree(election, command string, predicted []course, happened course) {
	const slack = 500 * time.Millisecond
	said := map[string]bool{}
	least, most := course{stop: time.Hour, resume: time.Hour}, course{}
	for _, c := range predicted {
		said[c.words()] = true
		if c.words() != happened.words() {
			continue
		}
		least.stop, most.stop = min(least.stop, c.stop), max(most.stop, c.stop)
		least.resume, most.resume = min(least.resume, c.resume), max(most.resume, c.resume)
	}
	words := ""
	for w := range said {
		words = max(words, w)
	}
	if len(predicted) == 0 {
		y.row(election, command, "nothing", happened.words())
		return
	}
	if !said[happened.words()] {
		y.row(election, command, words, happened.words())
		return
	}
	words = happened.words()
	done := words
	if happened.stops {
		words += fmt.Sprintf(", after %.1f to %.1f s", least.stop.Seconds(), most.stop.Seconds())
		done = words
		if happened.stop < least.stop-slack || happened.stop > most.stop+slack {
			done += fmt.Sprintf("; it stopped after %v", happened.stop)
		}
	}
	if happened.moves {
		words += fmt.Sprintf(", begins anew after %.1f to %.1f s", least.resume.Seconds(), most.resume.Seconds())
		late := ""
		if happened.resume < least.resume-slack || happened.resume > most.resume+slack {
			late = fmt.Sprintf("; it began anew after %v", happened.resume)
		}
		done = words + strings.TrimPrefix(done, strings.Split(words, ", begins")[0]) + late
	}
	y.row(election, command, words, done)
}

// TestSimulationEqualsWhatHappens checks that after a death, a new default and an outage members do what
// `primacy simulate` says.
func TestSimulationEqualsWhatHappens(t *testing.T) {
	if underRace {
		t.Skip("make test-long runs it without the race detector; TestScripts/simulate and the tests of package scenario run its code with it")
	}
	y := &tally{t: t}
	document := previewedDocument(100)
	const at = 10 * time.Second
	for _, c := range []struct {
		event  scenario.Event
		happen func(p *previewed)
	}{
		{scenario.Event{Kind: scenario.Kill, Member: "m1", At: at}, func(p *previewed) {
			p.members[0].each(func(s *memory.Store) { s.On(memory.Put, memory.Hang()) })
			p.members[0].stop()
		}},
		{scenario.Event{Kind: scenario.Default, Revision: "green", At: at}, func(p *previewed) { setRevision(p, "green")(p.report()) }},
		{scenario.Event{Kind: scenario.APIAway, For: 20 * time.Second, At: at}, func(p *previewed) {
			for _, m := range p.members {
				m.each(func(s *memory.Store) {
					for _, op := range []memory.Op{memory.Get, memory.Put, memory.List, memory.Watch} {
						s.On(op, memory.Reject(lock.ErrUnknown))
					}
					s.CutWatches()
				})
			}
			wait(20 * time.Second)
			for _, m := range p.members {
				m.each((*memory.Store).Heal)
			}
		}},
	} {
		said := simulated(t, document, c.event)
		synctest.Test(t, func(t *testing.T) {
			p := newPreviewed(t, "red")
			p.join("m1", document, "red")
			p.join("m2", document, "green")
			before, since := p.report(), time.Now()
			c.happen(p)
			wait(100 * time.Second)
			for _, e := range before.Elections {
				if e.Name == "rollout-edge" {
					continue
				}
				of := func(name string) []course { return said[name+" of "+hosts([]string{e.Holder})] }
				y.agree(e.Name, "simulate "+c.event.String(), of(e.Name), p.journal.courseSince(e.Name, since))
			}
			p.end(p.members...)
		})
	}
	y.close()
}
