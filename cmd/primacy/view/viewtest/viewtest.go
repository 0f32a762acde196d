// Package viewtest has helpers for tests of live views: pages in testdata, and pipes to read
// screens while they are drawn.
package viewtest

import (
	"bufio"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what testdata should hold")

// Updating says whether the tests run with -update: they write testdata instead of comparing.
func Updating() bool { return *update }

// Golden compares got with a file in testdata. See Updating.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if Updating() {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path) // #nosec G304 -- the test names it
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// Pipe is a pipe that is closed when the test ends, unless the test has closed it before.
func Pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Close()
		_ = w.Close()
	})
	return r, w
}

// Until reads until it has read the text.
func Until(t testing.TB, r *bufio.Reader, want string) {
	t.Helper()
	var seen strings.Builder
	for !strings.HasSuffix(seen.String(), want) {
		b, err := r.ReadByte()
		if err != nil {
			t.Fatalf("%v after %q, waiting for %q", err, seen.String(), want)
		}
		seen.WriteByte(b)
	}
}
