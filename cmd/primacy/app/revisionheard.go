package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
)

// others are the living members that see another default revision than the stored one, by what they see.
func (s *steerCommand) others(r status.Report, stored string) map[string][]string {
	others := map[string][]string{}
	for _, m := range r.Members {
		if m.Group != s.group || m.State != status.Live {
			continue
		}
		if seen := defaultOf(m); seen != record.Prefer(stored).String() {
			others[seen] = append(others[seen], view.NameOf(m.Identity))
		}
	}
	return others
}

// storedDefault is the default revision that is stored under the key, and remarks on the members that see another one. Members need a moment
// to see what somebody has just stored.
func (s *steerCommand) storedDefault(ctx context.Context, key configmap.Key) (stored string, remarks []string, err error) {
	for looks := 1; ; looks++ {
		if stored, err = configmap.Get(ctx, s.core, key); err != nil || stored != "" && revisions.Check(stored) != nil {
			return stored, nil, err // members keep the last one that is valid
		}
		others := s.others(s.report, stored)
		if len(others) == 0 {
			return stored, nil, nil
		}
		if looks > settlingLooks {
			return stored, remarksOn(others), nil
		}
		if !clock.Wait(ctx, settlingPause) {
			return stored, nil, errDeclined
		}
		if err := s.see(ctx); err != nil {
			return stored, nil, err
		}
	}
}

// remarksOn says which members see something else than what is stored.
func remarksOn(others map[string][]string) (remarks []string) {
	for seen, names := range others {
		slices.Sort(names)
		sees := "see"
		if len(names) == 1 {
			sees = "sees"
		}
		remarks = append(remarks, fmt.Sprintf("%s %s %s, not what is stored here (does this file name the ConfigMap that members follow?)", strings.Join(names, ", "), sees, seen))
	}
	slices.Sort(remarks)
	return remarks
}

// heardDefault waits until all living members have seen the default revision, and notes those that do not see it. It says nothing if somebody has
// stored another one meanwhile.
func (s *steerCommand) heardDefault(ctx context.Context, key configmap.Key, revision string) {
	names := s.stillDeaf(ctx, func(r status.Report) (all []string) {
		for _, names := range s.others(r, revision) {
			all = append(all, names...)
		}
		return all
	})
	if names == nil {
		return
	}
	if now, err := configmap.Get(ctx, s.core, key); err != nil || now != revision {
		return
	}
	fmt.Fprintf(s.notes, "warning: %s: this is stored, and not seen after %v. Nothing moves between members that see different defaults. A member that does not see this one has another defaultRevision in its file, "+
		"or cannot read the ConfigMap (see its log), or %s\n", strings.Join(names, ", "), hearsWithin, deaf)
}
