package watchfile

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// way is a directory with versions of a file, and a link to one of them.
type way struct {
	*testing.T

	home string
}

// put writes a version of the file.
func (w way) put(version string) {
	w.Helper()
	dir := filepath.Join(w.home, version)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte(version), 0o600); err != nil {
		w.Fatal(err)
	}
}

// lead lets the link lead to a version.
func (w way) lead(version string) {
	w.Helper()
	link := filepath.Join(w.home, "link")
	if err := os.Symlink(version, link+".new"); err != nil {
		w.Fatal(err)
	}
	if err := os.Rename(link+".new", link); err != nil {
		w.Fatal(err)
	}
}

// TestEventsOfWhereTheWayLeads checks that events come from the directory to which the link leads now.
func TestEventsOfWhereTheWayLeads(t *testing.T) {
	w := way{t, t.TempDir()}
	w.put("v1")
	w.put("v2")
	w.lead("v1")
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer notify.Close()
	d := directory{path: filepath.Join(w.home, "link"), notify: notify}
	for _, version := range []string{"v1", "v2"} {
		w.lead(version)
		if err := d.attend(); err != nil {
			t.Fatal(err)
		}
		made := "made-in-" + version
		late := clock.NewTimer(20 * time.Second)
		defer late.Stop()
		if err := os.WriteFile(filepath.Join(w.home, version, made), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for told := false; !told; {
			select {
			case event := <-notify.Events:
				told = filepath.Base(event.Name) == made
			case <-late.C:
				t.Fatalf("nothing told of a change of %s", version)
			}
		}
	}
}

// TestTheWayLeadsElsewhere checks that we see the file after a link on the path to its directory got another target, and after
// somebody removed the directory and made it anew.
func TestTheWayLeadsElsewhere(t *testing.T) {
	w := way{t, t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	seen := make(chan string, 1000)
	ended := make(chan error, 1)
	sees := func(want string) {
		t.Helper()
		for {
			select {
			case got := <-seen:
				if got == want {
					return
				}
			case <-ctx.Done():
				t.Fatalf("%s was not seen", want)
			}
		}
	}
	w.put("v1")
	w.lead("v1")
	path := filepath.Join(w.home, "link", "file")
	go func() {
		ended <- watch(ctx, path, time.Millisecond, 50*time.Millisecond, func() time.Time {
			text, _ := os.ReadFile(path) // empty if there is none
			seen <- string(text)
			return time.Time{}
		}, Stall{})
	}()
	sees("v1")
	w.put("v2")
	w.lead("v2")
	sees("v2")
	if err := os.RemoveAll(filepath.Join(w.home, "v1")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.home, "v2")); err != nil {
		t.Fatal(err)
	}
	sees("")
	w.put("v2")
	sees("v2")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestALookIsNotPutOffForEver checks that we look at the file even if other files in its directory
// change all the time.
func TestALookIsNotPutOffForEver(t *testing.T) {
	s := stirring{settle: time.Second}
	begin := time.Unix(1000, 0)
	for at, want := range []bool{true, true, true, true, true, true, true, true, true, true, false, false} {
		if got := s.putsOff(begin.Add(time.Duration(at) * time.Second)); got != want {
			t.Errorf("after %d s of stirring the look is put off: %v, want %v", at, got, want)
		}
	}
	s.since = time.Time{} // as after a look
	if !s.putsOff(begin.Add(time.Minute)) {
		t.Error("the next event puts off nothing")
	}
}
