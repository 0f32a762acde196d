package sim

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestWhoIsToBlameForAFreedLock plants an elector that begins on a lock which we freed, while another one, that was robbed before, is
// still at work. It checks that the judge objects, unless the member that freed the lock could not know of the robbed one: it saw
// the lock only after the robbery, and none of ours that knew has written the lock since.
func TestWhoIsToBlameForAFreedLock(t *testing.T) {
	const began, robbed, seen = 3, 5, 7
	for name, tt := range map[string]struct {
		change  func(j *judge, freer *contest, o *run)
		objects bool
	}{
		"nobody could know":                 {func(*judge, *contest, *run) {}, false},
		"it was not robbed":                 {func(_ *judge, _ *contest, o *run) { o.robbedAt = 0 }, true},
		"it was robbed before our eyes":     {func(_ *judge, m *contest, _ *run) { m.firstSeen = robbed - 1 }, true},
		"the process that freed it knew":    {func(_ *judge, m *contest, o *run) { o.shown = []*proc{m.i.p} }, true},
		"nobody of ours freed it":           {func(j *judge, _ *contest, _ *run) { clear(j.writer) }, true},
		"another of ours knew and wrote it": {func(j *judge, m *contest, o *run) { o.shown = []*proc{{}}; j.suspect(another(m, o.shown[0])) }, true},
		"another of ours wrote it unknowing": {func(j *judge, m *contest, o *run) {
			o.shown = []*proc{{}}
			j.suspect(another(m, &proc{}))
		}, false},
		"it has taken the lock again": {func(_ *judge, _ *contest, o *run) {
			released := &record.Record{}
			o.stored(released, lock.Entry{Record: &record.Record{Holder: o.identity}, Version: record.Version{Revision: began}})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{elections: []string{"e0"}}
			j := newJudge(w)
			w.judge = j
			freer := &contest{i: &incarnation{p: &proc{h: &host{w: w}}, identity: "freer"}, firstSeen: seen}
			o := &run{identity: "robbed", working: true, began: began, robbedAt: robbed}
			r := &run{identity: "next", began: 9, freed: true}
			for _, one := range []*run{o, r} {
				one.e = &elector{w: w, run: one}
				w.electors = append(w.electors, one.e)
			}
			j.writer["e0"] = freer
			tt.change(j, freer, o)
			if r.work(); (w.violation != "") != tt.objects {
				t.Errorf("the judge says %q", w.violation)
			}
		})
	}
}

// another is a contest of another process for the same lock.
func another(m *contest, p *proc) *contest {
	return &contest{election: m.election, i: &incarnation{p: p, identity: "another"}}
}
