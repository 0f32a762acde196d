package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// timing resolves the document's timing: the profile, then single keys.
func (r *resolver) timing(doc timingDoc) {
	const at = "timing"
	base, _ := record.Profile(record.DefaultProfile)
	if profile, ok := r.profile(at, doc); ok {
		base = profile
	}
	if doc.Drift != nil {
		base.Drift = *doc.Drift
	}
	doc.durations(&base)
	r.cfg.Timing = base
}

// electionTiming resolves an election's timing: the document's, or the election's own profile,
// then the election's single keys. Drift is always the document's: it describes clocks, not an
// election.
func (r *resolver) electionTiming(at string, doc *electionDoc) record.Timing {
	timing, priority := at+".timing", at+".priority"
	t := r.cfg.Timing
	if profile, ok := r.profile(timing, doc.Timing); ok {
		profile.Drift = t.Drift
		t = profile
	}
	if doc.Timing.Drift != nil {
		r.fail(timing+".drift", "set timing.drift for all elections", "drift is about the clocks of all members, not about an election")
	}
	doc.Timing.durations(&t)
	timingDoc{PreemptDelay: doc.Priority.PreemptDelay, MinHold: doc.Priority.MinHold}.durations(&t)
	for _, field := range []string{".preemptDelay", ".minHold"} {
		if r.given(timing+field) && r.given(priority+field) {
			r.fail(priority+field, "keep one of the two", "is given as %s in line %d too", timing+field, r.line(timing+field))
		}
	}
	if t != r.cfg.Timing {
		known := r.cfg.Timing.Check()
		news := slices.DeleteFunc(t.Check(), func(e record.TimingError) bool { return slices.Contains(known, e) })
		r.blame(news, t, []string{timing, priority, "timing"}, at)
	}
	return t
}

func (r *resolver) profile(at string, doc timingDoc) (record.Timing, bool) {
	if !r.given(at + ".profile") {
		return record.Timing{}, false
	}
	t, err := record.Profile(doc.Profile)
	if err != nil {
		r.fail(at+".profile", "", "%v", err)
	}
	return t, err == nil
}

// durations copies the durations that are set to t.
func (doc timingDoc) durations(t *record.Timing) {
	for _, f := range []struct {
		from *time.Duration
		to   *time.Duration
	}{
		{doc.LeaseDuration, &t.LeaseDuration}, {doc.RenewInterval, &t.RenewInterval}, {doc.StopGrace, &t.StopGrace},
		{doc.NominateDelay, &t.NominateDelay}, {doc.PreemptDelay, &t.PreemptDelay}, {doc.MinHold, &t.MinHold},
		{doc.StandDown, &t.StandDown},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
}

// blame reports impossible timings, each at the first of the given blocks that sets the timing.
func (r *resolver) blame(errs []record.TimingError, t record.Timing, blocks []string, otherwise string) {
	if r.obscure("timing") {
		return
	}
	for _, e := range errs {
		hint := timingHint(t, e)
		if of := r.process; of != nil {
			hint = fmt.Sprintf("this process keeps leaseDuration %v and renewInterval %v for its session until it is restarted", of.Timing.LeaseDuration, of.Timing.RenewInterval)
		}
		r.clash(r.setter(e.Field, blocks, otherwise), hint, "%s", e.Problem)
	}
}

// setter is the field to blame for a mistake in the given one. If renewals do not fit into a lease,
// each timing of the sum that is checked may be at fault.
func (r *resolver) setter(field string, blocks []string, otherwise string) string {
	candidates := []string{field}
	if field == "renewInterval" {
		candidates = []string{"renewInterval", "stopGrace", "leaseDuration", "drift"}
	}
	for _, block := range blocks {
		for _, c := range candidates {
			if r.given(block + "." + c) {
				return block + "." + c
			}
		}
		if r.given(block) && r.given(block+".profile") {
			return block + ".profile"
		}
	}
	return otherwise
}

// timingHint suggests values that would fit.
func timingHint(t record.Timing, e record.TimingError) string {
	switch {
	case e.Field == "preemptDelay" && t.PreemptDelay < 0, e.Field == "minHold" && t.MinHold < 0:
		return "write 0s to not wait"
	}
	return e.Hint
}

type namedDuration struct {
	name  string
	value time.Duration
}

func durationsOf(t record.Timing) []namedDuration {
	return []namedDuration{
		{"leaseDuration", t.LeaseDuration}, {"renewInterval", t.RenewInterval}, {"stopGrace", t.StopGrace},
		{"nominateDelay", t.NominateDelay}, {"preemptDelay", t.PreemptDelay}, {"minHold", t.MinHold}, {"standDown", t.StandDown},
	}
}
