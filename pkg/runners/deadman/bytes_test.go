//go:build linux

package deadman

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// TestBytes checks that a program gets exactly the bytes that it was given, text or not.
func TestBytes(t *testing.T) {
	dir := t.TempDir() + "/d\xe9"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, confinement := range map[string]Confinement{"plain": {}, "confined": {Limits: []Limit{{OpenFiles, 64, 64}}}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Start(t.Context(), Program{
			Path: "/bin/sh", Args: []string{"sh", "-c", `printf %s "$X$1"; /bin/pwd -P`, "sh", "arg\xff"}, Dir: dir,
			Env: []string{"X=/srv/caf\xe9"}, Files: []*os.File{null, w, w}, Confinement: confinement,
		}, clock.Boottime().Now().Add(time.Minute))
		_, _ = w.Close(), null.Close()
		if err != nil {
			t.Fatal(err)
		}
		p.Wait()
		out, err := io.ReadAll(r)
		if want := "/srv/caf\xe9arg\xff" + dir + "\n"; err != nil || string(out) != want {
			t.Errorf("%s: the program got %q (%v), want %q", name, out, err, want)
		}
		_ = r.Close()
	}
}
