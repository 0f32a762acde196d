package status

import (
	"reflect"
	"time"
)

// Changes finds what is new from one report to the next, except ages and renewals. The zero
// Changes has seen no report. Only one goroutine at a time may use it.
type Changes struct {
	elections map[string]Election
	members   map[string]Member
}

// Since returns what of a report differs from the last one. It does not report what is gone
// from the realm.
func (c *Changes) Since(r Report) Report {
	elections, members := map[string]Election{}, map[string]Member{}
	news := Report{At: r.At, Elections: []Election{}, Members: []Member{}, Notes: r.Notes, severalGroups: r.severalGroups, severalKinds: r.severalKinds}
	for _, e := range r.Elections {
		key, still := e.Group+"/"+e.Ref().String(), e
		still.Renewed = time.Time{}
		elections[key] = still
		if before, known := c.elections[key]; !known || !reflect.DeepEqual(before, still) {
			news.Elections = append(news.Elections, e)
		}
	}
	for _, m := range r.Members {
		still := m
		still.Renewed = time.Time{}
		members[m.Session] = still
		if before, known := c.members[m.Session]; !known || !reflect.DeepEqual(before, still) {
			news.Members = append(news.Members, m)
		}
	}
	c.elections, c.members = elections, members
	return news
}

// Empty says whether there is nothing to report.
func (r Report) Empty() bool { return len(r.Elections) == 0 && len(r.Members) == 0 }
