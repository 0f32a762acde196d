//go:build linux

package file_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/revisions/file"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// longest is how long a test waits for a delivery or a line of the log.
const longest = 30 * time.Second

// bench is one watched file.
type bench struct {
	*testing.T
	path string
	got  chan string
	// lines are the logged lines, each with the last value and the error.
	lines chan string
	stop  func()
}

// newBench watches the named file in a new directory, which prepare may fill.
func newBench(t *testing.T, name string, prepare func(b *bench)) *bench {
	t.Helper()
	b := &bench{T: t, path: filepath.Join(t.TempDir(), name), got: make(chan string, 16), lines: make(chan string, 16)}
	if prepare != nil {
		prepare(b)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	source := file.New(b.path, zap.New(tee{b.lines}))
	go func() { done <- source.Watch(ctx, func(p election.Preference) { b.got <- p.Digest() }) }()
	b.stop = func() {
		if cancel(); done == nil {
			return
		}
		if err := <-done; err != nil {
			t.Errorf("Watch returned %v", err)
		}
		done = nil
	}
	t.Cleanup(b.stop)
	return b
}

func (b *bench) next(want string) {
	b.Helper()
	select {
	case p := <-b.got:
		if p != want {
			b.Fatalf("delivered %s, want %s", p, want)
		}
	case line := <-b.lines:
		b.Fatalf("logged %q, want %s", line, want)
	case <-time.After(longest):
		b.Fatalf("nothing was delivered, want %s", want)
	}
}

// says waits for a line of the log that contains all parts.
func (b *bench) says(parts ...string) {
	b.Helper()
	select {
	case line := <-b.lines:
		for _, p := range parts {
			if !strings.Contains(line, p) {
				b.Errorf("logged %q, want %q", line, p)
			}
		}
	case p := <-b.got:
		b.Fatalf("delivered %s, want a line of the log with %q", p, parts)
	case <-time.After(longest):
		b.Fatalf("nothing was logged, want %q", parts)
	}
}

// quiet ends the watch and fails if the source delivered or logged anything more.
func (b *bench) quiet() {
	b.Helper()
	b.stop()
	select {
	case line := <-b.lines:
		b.Errorf("logged %q", line)
	case p := <-b.got:
		b.Errorf("delivered %s", p)
	default:
	}
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
	b.next("1-9-0")
	b.replace("2-0-0")
	b.next("2-0-0")
	b.write("")
	b.next("(unset)")
	b.write("2-0-0\r\n")
	b.next("2-0-0")
	b.write("\n1-9-0\n")
	b.next("(unset)")
	b.write("1-9-0")
	b.next("1-9-0")
	b.write("no revision")
	b.says(refused, "last=1-9-0", `"no revision" is no revision`)
	b.write(strings.Repeat("a", 5000))
	b.says(refused, "4096 characters")
	b.replace("1-9-0\nthe same")
	b.quiet()
}

// TestMissing checks that the source delivers nothing before there is a file, and keeps the last
// value when the file goes away.
func TestMissing(t *testing.T) {
	b := newBench(t, "revision", nil)
	b.says(trouble, nothing, "no such file", "(write the revision into it, or nothing if none is preferred)")
	b.replace("1-9-0")
	b.says(over)
	b.next("1-9-0")
	b.ok(os.Remove(b.path))
	b.says(trouble, "last=1-9-0")
	b.write("2-0-0")
	b.says(over)
	b.next("2-0-0")
	b.quiet()
}

// TestRefusedAtFirst checks that a first text that is no revision is treated like a missing file.
func TestRefusedAtFirst(t *testing.T) {
	b := newBench(t, "revision", func(b *bench) { b.write("^1-9-0") })
	b.says(refused, nothing)
	b.quiet()
}

// TestNoFile checks that the source does not wait for a named pipe at the path.
func TestNoFile(t *testing.T) {
	b := newBench(t, "revision", func(b *bench) { b.ok(syscall.Mkfifo(b.path, 0o600)) })
	b.says(trouble, "is no regular file")
	b.replace("1-9-0")
	b.says(over)
	b.next("1-9-0")
	b.quiet()
}

// TestDirectory checks that the directory may appear late, go, and come again.
func TestDirectory(t *testing.T) {
	b := newBench(t, "late/revision", nil)
	dir := filepath.Dir(b.path)
	b.says(trouble, nothing, "watch directory "+dir)
	arrive := func(text string) {
		made := dir + ".new"
		b.ok(os.Mkdir(made, 0o700))
		b.ok(os.WriteFile(filepath.Join(made, "revision"), []byte(text), 0o600))
		b.ok(os.Rename(made, dir))
	}
	arrive("1-9-0")
	b.says(over)
	b.next("1-9-0")
	b.ok(os.Rename(dir, dir+".old"))
	b.says(trouble, "last=1-9-0", "no such file or directory")
	arrive("2-0-0")
	for { // the source may try once more before the directory is there
		select {
		case line := <-b.lines:
			if !strings.HasPrefix(line, trouble) && !strings.HasPrefix(line, over) {
				t.Fatalf("logged %q", line)
			}
			continue
		case got := <-b.got:
			if got != "2-0-0" {
				t.Fatalf("delivered %s", got)
			}
		case <-time.After(longest):
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
	b.next("1-9-0")
	b.mount("..2", "2-0-0")
	b.next("2-0-0")
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

// tee sends lines of a log where a test can wait for them.
type tee struct{ lines chan<- string }

func (t tee) Enabled(l zapcore.Level) bool             { return l >= zapcore.InfoLevel }
func (t tee) With(fields []zapcore.Field) zapcore.Core { return t }
func (t tee) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return ce.AddCore(e, t)
}
func (t tee) Write(e zapcore.Entry, fields []zapcore.Field) error {
	text := e.Message
	for _, f := range fields {
		switch err, failed := f.Interface.(error); {
		case failed:
			text += " error=" + err.Error()
		default:
			text += " " + f.Key + "=" + f.String
		}
	}
	t.lines <- text
	return nil
}
func (t tee) Sync() error { return nil }
