//go:build linux

package deadman

import (
	"os"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

func BenchmarkStart(b *testing.B) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	for b.Loop() {
		p, err := Start(b.Context(), Program{Path: "/bin/true", Args: []string{"true"}, Files: []*os.File{null, null, null}}, clock.Boottime().Now().Add(time.Minute))
		if err != nil {
			b.Fatal(err)
		}
		p.Wait()
	}
}
