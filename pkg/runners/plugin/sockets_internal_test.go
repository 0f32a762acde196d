package plugin

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSocketsFit checks that a socket's path fits into the folder that makeSockets makes, however
// long the path of the first folder is.
func TestSocketsFit(t *testing.T) {
	short, err := os.MkdirTemp("/tmp", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	for n := 1; n < 120-len(short); n++ {
		long := filepath.Join(short, strings.Repeat("x", n))
		if err := os.Mkdir(long, 0o700); err != nil {
			t.Fatal(err)
		}
		folder, err := makeSockets(long, short)
		if err != nil {
			t.Fatalf("%d bytes: %v", len(long), err)
		}
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s is open to others: %v, %v", folder, info.Mode(), err)
		}
		l, err := net.Listen("unix", filepath.Join(folder, "plugin4294967295"))
		if err != nil {
			t.Fatalf("%d bytes: %v", len(long), err)
		}
		_ = l.Close()
	}
	_, err = makeSockets(strings.Repeat("/x", 60))
	if err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("no hint in %v", err)
	}
}
