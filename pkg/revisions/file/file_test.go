//go:build linux

package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/revisions/file"
	"github.com/primacy-dev/primacy/pkg/revisions/internal/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is one watched file.
type bench struct {
	*sourcetest.Watch
	path string
}

// newBench watches the named file in a new directory, which prepare may fill.
func newBench(t *testing.T, name string, prepare func(b *bench)) *bench {
	t.Helper()
	b := &bench{sourcetest.New(t), filepath.Join(t.TempDir(), name)}
	if prepare != nil {
		prepare(b)
	}
	b.Begin(file.New(b.path, b.Log()))
	return b
}

// quiet ends the watch and fails if the source delivered or logged anything more.
func (b *bench) quiet() {
	b.Helper()
	b.Stop()
	b.Quiet()
}

// ok fails the test on an error.
func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) write(text string) { b.Helper(); b.ok(os.WriteFile(b.path, []byte(text), 0o600)) }

func (b *bench) replace(text string) {
	b.Helper()
	other := b.path + ".new"
	b.ok(os.WriteFile(other, []byte(text), 0o600))
	b.ok(os.Rename(other, b.path))
}

const (
	trouble = "cannot read the preferred revision; keeping the last one, and retrying"
	over    = "preferred revision can be read again"
	refused = "the source's value is not a valid revision; keeping the last one until the file is corrected"
	nothing = "last=none, so nothing moves"
)

func TestValues(t *testing.T) {
	b := newBench(t, "revision", func(b *bench) { b.write(" 1-9-0 \nwhat follows is a comment\n") })
	b.Delivers("1-9-0")
	b.replace("2-0-0")
	b.Delivers("2-0-0")
	b.write("")
	b.Delivers("(unset)")
	b.write("2-0-0\r\n")
	b.Delivers("2-0-0")
	b.write("\n1-9-0\n")
	b.Delivers("(unset)")
	b.write("1-9-0")
	b.Delivers("1-9-0")
	b.write("no revision")
	b.Says(refused, "last=1-9-0", `"no revision" is no revision`)
	b.write(strings.Repeat("a", 5000))
	b.Says(refused, "4096 characters")
	b.replace("1-9-0\nthe same")
	b.quiet()
}

// TestMissing checks that the source delivers nothing before there is a file, and keeps the last
// value when the file goes away.
func TestMissing(t *testing.T) {
	b := newBench(t, "revision", nil)
	b.Says(trouble, nothing, "no such file", "(write the revision into it, or nothing if none is preferred)")
	b.replace("1-9-0")
	b.Says(over)
	b.Delivers("1-9-0")
	b.ok(os.Remove(b.path))
	b.Says(trouble, "last=1-9-0")
	b.write("2-0-0")
	b.Says(over)
	b.Delivers("2-0-0")
	b.quiet()
}

// TestRefusedAtFirst checks that a first text that is no revision is treated like a missing file.
func TestRefusedAtFirst(t *testing.T) {
	b := newBench(t, "revision", func(b *bench) { b.write("^1-9-0") })
	b.Says(refused, nothing)
	b.quiet()
}

// TestNoFile checks that the source does not wait for a named pipe at the path.
func TestNoFile(t *testing.T) {
	b := newBench(t, "revision", func(b *bench) { b.ok(syscall.Mkfifo(b.path, 0o600)) })
	b.Says(trouble, "it is not a regular file")
	b.replace("1-9-0")
	b.Says(over)
	b.Delivers("1-9-0")
	b.quiet()
}

// TestDirectory checks that the directory may appear late, go, and come again.
func TestDirectory(t *testing.T) {
	b := newBench(t, "late/revision", nil)
	dir := filepath.Dir(b.path)
	b.Says(trouble, nothing, "watch directory "+dir)
	arrive := func(text string) {
		made := dir + ".new"
		b.ok(os.Mkdir(made, 0o700))
		b.ok(os.WriteFile(filepath.Join(made, "revision"), []byte(text), 0o600))
		b.ok(os.Rename(made, dir))
	}
	arrive("1-9-0")
	b.Says(over)
	b.Delivers("1-9-0")
	b.ok(os.Rename(dir, dir+".old"))
	b.Says(trouble, "last=1-9-0", "no such file or directory")
	arrive("2-0-0")
	for { // the source may try once more before the directory is there
		select {
		case line := <-b.Lines:
			if !strings.HasPrefix(line, trouble) && !strings.HasPrefix(line, over) {
				t.Fatalf("logged %q", line)
			}
			continue
		case got := <-b.Got:
			if got.Digest() != "2-0-0" {
				t.Fatalf("delivered %s", got.Digest())
			}
		case <-clock.NewTimer(sourcetest.Longest).C:
			t.Fatal("the new directory was not seen")
		}
		break
	}
}

// TestMount checks that the source follows what kubelet does: it swaps a link to the directory that
// holds all files of a mount.
func TestMount(t *testing.T) {
	b := newBench(t, "revision", func(b *bench) {
		b.mount("..1", "1-9-0")
		b.ok(os.Symlink("..data/revision", b.path))
	})
	b.Delivers("1-9-0")
	b.mount("..2", "2-0-0")
	b.Delivers("2-0-0")
	b.quiet()
}

func (b *bench) mount(name, text string) {
	b.Helper()
	dir := filepath.Dir(b.path)
	b.ok(os.Mkdir(filepath.Join(dir, name), 0o700))
	b.ok(os.WriteFile(filepath.Join(dir, name, "revision"), []byte(text), 0o600))
	b.ok(os.Symlink(name, filepath.Join(dir, "..data_tmp")))
	b.ok(os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
}
