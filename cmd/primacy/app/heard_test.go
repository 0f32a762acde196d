package app

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// TestWhatNobodyShowedIsNotSaidToBeSeen checks that a command which waits until members have seen its change says so if the API shows no
// member in time, and says nothing if all have seen it.
func TestWhatNobodyShowedIsNotSaidToBeSeen(t *testing.T) {
	for name, hangs := range map[string]bool{"it shows them": false, "it shows nobody": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPreviewed(t, "red")
				m := p.join("red-1", "group: edge\ndefaultRevision: {configMap: {name: revisions, key: default}}\nelections: []\n", "red")
				store := p.leases.Store()
				if hangs {
					store.On(memory.List, memory.Hang())
				}
				var notes bytes.Buffer
				g := p.command(nil)
				g.notes, g.realm.Leases = &notes, store
				names := g.stillDeaf(t.Context(), func(status.Report) []string { return nil })
				if told := strings.Contains(notes.String(), "whether members have seen it is not known"); told != hangs || names != nil {
					t.Errorf("%v, %q", names, notes.String())
				}
				m.leave()
			})
		})
	}
}
