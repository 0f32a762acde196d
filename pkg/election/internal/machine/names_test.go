package machine

import (
	"fmt"
	"slices"
	"testing"
)

// TestNames checks that each value of an enumeration has a name of its own, and that the zero value and a
// value beyond the last one print as numbers.
func TestNames(t *testing.T) {
	for _, values := range [][]fmt.Stringer{
		{Role(0), Following, Claiming, Leading, Draining, Draining + 1},
		{Owner(0), Nobody, Free, Mine, Other, Orphaned, Foreign, Unowned, Unowned + 1},
		{Purpose(0), Create, Claim, Take, Renew, Release, Release + 1},
		{ReportKind(0), RoleChanged, PassedOver, Ownerless, ForeignHolder, ForeignTooLong, Divided, Unheeded, Unheeded + 1},
	} {
		var names []string
		for i, v := range values {
			name := v.String()
			if named := name != fmt.Sprintf("%T(%d)", v, v)[len("machine."):]; named != (0 < i && i < len(values)-1) {
				t.Errorf("%T %d is called %q", v, v, name)
			}
			names = append(names, name)
		}
		slices.Sort(names)
		if len(slices.Compact(names)) != len(values) {
			t.Errorf("%T: a name is used twice: %q", values[0], names)
		}
	}
}
