package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

// print shows what was found as a table.
func (s *scaled) print() error {
	fmt.Printf("%d elections x %d members, %d cores; load before: %s, after: %s\n", s.Elections, s.Members, s.Cores, s.LoadBefore, s.LoadAfter)
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	line := func(what, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", what, fmt.Sprintf(format, args...)) }
	line("API server alone, "+fmt.Sprint(rawConcurrency)+" at a time", "%.0f creates/s, %.0f updates/s", s.RawCreates, s.RawUpdates)
	line("all won from cold by one member (P9)", "%.1f s, %.0f takes/s, %.2f of the API server's (one create and one update each)", s.ColdTook/1000, s.ColdTakes, s.ColdRatio)
	line("  its requests, by code", "%v", s.ColdRequests)
	line("idle: requests/s of all members (P5)", "%.2f (%.2f of the API server's own left out)", s.IdleRequests-s.BaseRequests, s.BaseRequests)
	line("idle: CPU, % of a core (P6)", "%s", floats("%.2f", s.IdleCPU))
	line("RSS growth for each election, B (P7)", "%s", floats("%.0f", s.RSSPerElection))
	line("goroutines (P8)", "%v", s.Goroutines)
	line(fmt.Sprintf("client-go, %d elections: requests/s", s.Electors), "%.2f, %.2f for each election", s.ElectorRequests-s.BaseRequests, (s.ElectorRequests-s.BaseRequests)/float64(s.Electors))
	line("client-go: CPU, % of a core", "%s", floats("%.2f", s.ElectorCPU))
	line("client-go: goroutines", "%v", s.ElectorGoroutines)
	line(fmt.Sprintf("SIGKILL of the leader of %d: led again (P9)", s.Killed), "%.0f takes/s once they may be taken, %.2f of the API server's updates", s.RetakeRate, s.RetakeRatio)
	line("  requests, by code", "%v", s.KillRequests)
	line("  terms, overlaps, falling tokens", "%d, %d, %d", s.Terms, s.Overlaps, s.FallingTokens)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	fmt.Fprintln(w, header)
	fmt.Fprintln(w, s.Retake.row("SIGKILL -> next runner starts", time.Second))
	if err := w.Flush(); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return nil
}

func floats(format string, of []float64) string {
	var all []string
	for _, f := range of {
		all = append(all, fmt.Sprintf(format, f))
	}
	return strings.Join(all, ", ")
}
