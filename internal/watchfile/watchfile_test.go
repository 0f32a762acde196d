package watchfile

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestTheWayLeadsElsewhere checks that we see the file although a link on the way to its directory leads to another one now, and the
// directory was removed.
func TestTheWayLeadsElsewhere(t *testing.T) {
	home := t.TempDir()
	put := func(version string) {
		dir := filepath.Join(home, version)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte(version), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lead := func(version string) {
		link := filepath.Join(home, "link")
		if err := os.Symlink(version, link+".new"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(link+".new", link); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
	put("v1")
	lead("v1")
	path := filepath.Join(home, "link", "file")
	go func() {
		ended <- watch(ctx, path, time.Millisecond, 50*time.Millisecond, func() time.Time {
			text, _ := os.ReadFile(path) // empty if there is none
			seen <- string(text)
			return time.Time{}
		})
	}()
	sees("v1")
	put("v2")
	lead("v2")
	sees("v2")
	if err := os.RemoveAll(filepath.Join(home, "v1")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(home, "v2")); err != nil {
		t.Fatal(err)
	}
	sees("")
	put("v2")
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
