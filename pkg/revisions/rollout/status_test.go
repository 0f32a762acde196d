package rollout_test

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// TestSumOfEmptyLists checks that an empty list and a nil one, which are stored alike, have the same
// checksum.
func TestSumOfEmptyLists(t *testing.T) {
	none := rollout.Status{UID: "0123456789abcdef", Phase: rollout.Progressing}
	empty := none
	empty.Reach = rollout.Reach{Names: []string{}, Except: []string{}}
	empty.Moving, empty.Failures, empty.Absent = []rollout.Moving{}, []rollout.Failure{}, []string{}
	if none.Sum() != empty.Sum() {
		t.Errorf("%s without lists, %s with empty ones", none.Sum(), empty.Sum())
	}
}
