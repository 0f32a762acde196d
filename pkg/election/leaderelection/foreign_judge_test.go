package leaderelection_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// work is what a kube-scheduler says of its work in its own log, by its own clock.
type work struct {
	id          string
	began       time.Time // the first attempt to schedule a Pod
	firstBound  time.Time
	lastBound   time.Time
	last        time.Time       // the last attempt or binding
	tried       map[string]bool // the Pods that it tried to schedule
	bound       map[string]bool // the Pods that it bound
	gone        time.Time       // the process has ended
	hasElection bool            // it takes part in the election and knows all Pods
}

var schedulerLog = regexp.MustCompile(`^[IWE]\d{4} (\d\d:\d\d:\d\d\.\d+) .*?\] "([^"]*)"(?: pod="[^"/]*/([^"]*)")?`)

// hear takes in one line of its log.
func (w *work) hear(line string) error {
	m := schedulerLog.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	at, err := time.ParseInLocation("2006-01-02 15:04:05.000000", time.Now().Format("2006-01-02 ")+m[1], time.Local)
	if err != nil {
		return err
	}
	note := func(pods *map[string]bool, first *time.Time) {
		if *pods == nil {
			*pods, *first = map[string]bool{}, at
		}
		(*pods)[m[3]] = true
		w.last = at
	}
	switch m[2] {
	case "Attempting to acquire leader lease...":
		w.hasElection = true
	case "Attempting to schedule pod":
		note(&w.tried, &w.began)
	case "Successfully bound pod to node":
		note(&w.bound, &w.firstBound)
		w.lastBound = at
	}
	return nil
}

// binding says when the API told that a Pod was bound.
type binding struct {
	at  time.Time
	pod string
}

// credit finds the bindings that are in no log, since they were under way when their scheduler ended: its work goes on until the API tells of
// them. Such a binding is by the last one that tried the Pod.
func credit(all []work, bound []binding) (unlogged int) {
	for _, b := range bound {
		var by *work
		logged := false
		for i, w := range all {
			logged = logged || w.bound[b.pod]
			if w.tried[b.pod] && (by == nil || by.began.Before(w.began)) {
				by = &all[i]
			}
		}
		if logged {
			continue
		}
		unlogged++
		if by != nil && by.last.Before(b.at) {
			by.last = b.at
		}
	}
	return unlogged
}

// conflicts lists which schedulers were at work at once, and for how long: from the first line about a Pod of one that began
// until the last such line of one that had begun before.
func conflicts(all []work) (found []string) {
	all = slices.DeleteFunc(slices.Clone(all), func(w work) bool { return w.began.IsZero() })
	slices.SortFunc(all, func(a, b work) int { return cmp.Or(a.began.Compare(b.began), a.last.Compare(b.last)) })
	for i, w := range all {
		for _, later := range all[i+1:] {
			end := w.last
			if later.last.Before(end) {
				end = later.last
			}
			if both := end.Sub(later.began); both >= 0 {
				found = append(found, fmt.Sprintf("%s and %s for %v", w.id, later.id, both))
			}
		}
	}
	return found
}

// TestConflictsAreFound plants schedulers at work at once in logs.
func TestConflictsAreFound(t *testing.T) {
	const attempt, bound = `I1125 10:00:%s 7 schedule_one.go:117] "Attempting to schedule pod" pod="a/b"`, `I1125 10:00:%s 7 schedule_one.go:483] "Successfully bound pod to node" pod="a/b" node="n"`
	said := func(id string, lines ...string) work {
		w := work{id: id}
		for _, line := range lines {
			if err := w.hear(line); err != nil {
				t.Fatal(err)
			}
		}
		return w
	}
	works := func(id, from, till string) work {
		return said(id, fmt.Sprintf(attempt, from), fmt.Sprintf(bound, from), fmt.Sprintf(attempt, till), fmt.Sprintf(bound, till))
	}
	for _, tt := range []struct {
		name string
		all  []work
		want string
	}{
		{"one after the other", []work{works("a", "01.000000", "05.000000"), works("b", "05.000001", "06.000000"), said("c")}, ""},
		{"at the same moment", []work{works("a", "01.000000", "05.000000"), works("b", "05.000000", "06.000000")}, "a and b for 0s"},
		{"a binding that comes late", []work{works("b", "05.000000", "06.000000"), works("a", "01.000000", "05.000300")}, "a and b for 300µs"},
		{"one within the other", []work{works("a", "01.000000", "09.000000"), works("b", "05.000000", "06.000000")}, "a and b for 1s"},
		{"an attempt alone", []work{works("a", "01.000000", "09.000000"), said("b", fmt.Sprintf(attempt, "05.000000"))}, "a and b for 0s"},
		{"not with a neighbour", []work{works("a", "01.000000", "09.000000"), works("b", "02.000000", "03.000000"), works("c", "08.000000", "09.500000")}, "a and b for 1s, a and c for 1s"},
	} {
		if got := strings.Join(conflicts(tt.all), ", "); got != tt.want {
			t.Errorf("%s: found %q, want %q", tt.name, got, tt.want)
		}
	}

	all := []work{said("a", fmt.Sprintf(attempt, "01.000000")), works("b", "05.000000", "09.000000")}
	if found := conflicts(all); found != nil {
		t.Errorf("before the API told of the binding: found %q", found)
	}
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{{3 * time.Second, ""}, {4100 * time.Millisecond, "a and b for 100ms"}} {
		all[0].tried = map[string]bool{"late": true}
		n := credit(all, []binding{{all[1].began, "b"}, {all[0].began.Add(tt.after), "late"}})
		if got := strings.Join(conflicts(all), ", "); got != tt.want || n != 1 {
			t.Errorf("a binding under way that is done after %v: found %q, want %q; %d of them", tt.after, got, tt.want, n)
		}
	}
}
