package interop_test

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/interop/elector"
)

// TestPlanned checks planned handovers: an elector leaves and our member follows it; then our
// member leaves and an elector follows it.
func TestPlanned(t *testing.T) {
	t.Parallel()
	planned(newArena(t, count(30)), "", nil)
}

func planned(a *arena, program string, bend func(*elector.Options)) {
	a.t.Helper()
	theirs := a.electorProcess("client-go-1", program, bend)
	a.works(theirs)
	ours := a.member("primacy", nil, nil)
	a.sees(ours, theirs)
	at := now()
	theirs.leave()
	a.works(ours)
	a.took("44: it leaves, we lead", a.since(at))

	again := a.electorProcess("client-go-2", program, bend)
	a.sees(again, ours)
	at = now()
	ours.leave()
	a.works(again)
	a.took("45: we leave, it leads", a.since(at))
}
