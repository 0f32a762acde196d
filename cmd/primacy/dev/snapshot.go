package dev

import (
	"fmt"
	"strconv"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// snapshot is all that the screen shows, at one moment. It is immutable.
type snapshot struct {
	report    status.Report
	preferred string
	other     string // the revision to which key r switches; empty if we cannot switch
	up        time.Duration
	led       int
	members   []memberRow
	recent    []string
	folder    string
	byHand    []string // the command that switches the revision, in words
}

// memberRow is what we know of a member.
type memberRow struct {
	name, revision, process, session string
	leads                            int
}

func (r *run) snapshot(now time.Time) snapshot {
	report := r.board.report(now)
	s := snapshot{
		report: report, preferred: r.preferred.String(), up: now.Sub(r.begin), led: view.CountLed(report),
		members: r.memberRows(report, now), recent: r.recent.Lines(), folder: r.dir.path, byHand: r.switchByHand(),
	}
	if r.preferred.State == 0 {
		s.preferred = "(not read yet)"
	}
	if r.plan.key != nil {
		s.other = r.plan.other(r.preferred.Revision)
	}
	return s
}

// memberRows joins the states of the processes with their sessions in the API.
func (r *run) memberRows(report status.Report, now time.Time) []memberRow {
	rows := make([]memberRow, len(r.crew.members))
	for i, m := range r.crew.members {
		row := memberRow{name: m.name, revision: m.revision, process: m.phase.String(), session: "-"}
		switch away := m.returnAt.Sub(now); {
		case m.phase == running:
			row.process = "running, pid " + strconv.Itoa(m.pid())
		case m.phase == stopping:
			row.process = "stopping, pid " + strconv.Itoa(m.pid())
		case !m.returnAt.IsZero():
			row.process = fmt.Sprintf("%s, back in %.0f s", m.phase, max(0, away.Seconds()))
		}
		for _, s := range report.Members {
			if view.NameOf(s.Identity) != m.name || s.State == status.Ended {
				continue
			}
			row.leads += s.Leads
			// A member may have several sessions, dead ones and the present one: the live one counts.
			if state := sessionState(s); row.session != "live" {
				row.session = state
			}
		}
		rows[i] = row
	}
	return rows
}

func sessionState(m status.Member) string {
	switch {
	case m.State == status.Stale:
		return "not renewed"
	case m.State == status.Live && m.Fallen > 0:
		return "live, on probation"
	}
	return string(m.State)
}
