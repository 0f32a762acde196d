package config

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const head = "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\n"

type delivery struct {
	c   *Configuration
	err error
}

// start runs a watcher and returns what it delivers, and a function that ends it.
func start(t *testing.T, w *watcher) (<-chan delivery, func() error) {
	t.Helper()
	got := make(chan delivery, 100)
	w.settle = time.Millisecond
	w.firstAgain = max(w.firstAgain, time.Hour)
	if w.parse == nil {
		w.parse = Parse
	}
	if w.Take == nil {
		w.Take = func(c *Configuration) error { got <- delivery{c: c}; return nil }
	}
	w.Refuse = func(err error) { got <- delivery{err: err} }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.run(ctx) }()
	stop := func() error { cancel(); return <-ended }
	t.Cleanup(cancel)
	return got, stop
}

func elections(t *testing.T, d delivery) string {
	t.Helper()
	if d.err != nil {
		t.Fatal(d.err)
	}
	var names []string
	for _, e := range d.c.Elections {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

// replace replaces a file atomically.
func replace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestWatchFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "primacy.yaml")
	replace(t, path, head+"elections: [{name: a}]")
	got, stop := start(t, &watcher{path: path})
	if names := elections(t, <-got); names != "a" {
		t.Error(names)
	}
	replace(t, path, head+"elections: [{name: b}]")
	if names := elections(t, <-got); names != "b" {
		t.Error(names)
	}
	replace(t, path, head+"elections: [{nmae: c}]")
	if d := <-got; d.c != nil || d.err == nil || !strings.Contains(d.err.Error(), path+":4:14: elections[0].nmae: unknown field") {
		t.Error(d.err)
	}
	// After an error, even an equal configuration is offered, once.
	replace(t, path, head+"elections: [{name: b}]")
	if names := elections(t, <-got); names != "b" {
		t.Error(names)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if d := <-got; !errors.Is(d.err, fs.ErrNotExist) {
		t.Error(d.err)
	}
	replace(t, path, head+"elections: [{name: d}]")
	if names := elections(t, <-got); names != "d" {
		t.Error(names)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestWatchConfigMap checks that Watch sees what the kubelet does in a mount: it writes a new directory
// and swaps the link ..data, through which the link of the file goes.
func TestWatchConfigMap(t *testing.T) {
	mount := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	publish := func(version, text string) {
		must(os.Mkdir(filepath.Join(mount, version), 0o755))
		must(os.WriteFile(filepath.Join(mount, version, "primacy.yaml"), []byte(text), 0o644))
		must(os.Symlink(version, filepath.Join(mount, "..data_tmp")))
		must(os.Rename(filepath.Join(mount, "..data_tmp"), filepath.Join(mount, "..data")))
	}
	publish("..1", head+"elections: [{name: a}]")
	path := filepath.Join(mount, "primacy.yaml")
	must(os.Symlink(filepath.Join("..data", "primacy.yaml"), path))
	got, stop := start(t, &watcher{path: path})
	if names := elections(t, <-got); names != "a" {
		t.Error(names)
	}
	publish("..2", head+"elections: [{name: b}]")
	must(os.RemoveAll(filepath.Join(mount, "..1")))
	if names := elections(t, <-got); names != "b" {
		t.Error(names)
	}
	must(stop())
}

func TestWatchSaysNothingTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "primacy.yaml")
	looked := make(chan string, 100)
	parse := func(file string, data []byte) (*Configuration, error) {
		looked <- string(data)
		return Parse(file, data)
	}
	see := func(text string) {
		t.Helper()
		replace(t, path, text)
		for got := range looked {
			if got == text {
				return
			}
		}
	}
	replace(t, path, head+"elections: [{name: a}]")
	got, stop := start(t, &watcher{path: path, parse: parse})
	if names := elections(t, <-got); names != "a" {
		t.Error(names)
	}
	see(head + "elections:\n- name: 'a' # in other words")
	see(head + "elections: [{name: a, lock: {kind: Lease}}]")
	see(head + "elections: [{name: a}, {name: b}]")
	if names := elections(t, <-got); names != "a b" {
		t.Error("a change of words was delivered:", names)
	}
	see(head + "elections: 1")
	see(head + "elections: 1 # still wrong")
	see(head + "elections: [{name: c}]")
	if d := <-got; d.err == nil {
		t.Error("the mistake was not delivered")
	}
	if names := elections(t, <-got); names != "c" {
		t.Error(names)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if len(got) > 0 {
		t.Errorf("more was delivered: %+v", <-got)
	}
}

// TestWatchOffersAgain checks that Watch offers a refused configuration again, when the file has other
// bytes and after a wait: the cause may lie outside the file. Watch reports the same cause once.
func TestWatchOffersAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "primacy.yaml")
	replace(t, path, head+"elections: [{name: a}]")
	offered := make(chan string)
	answers := make(chan error)
	w := &watcher{path: path, firstAgain: time.Hour, Follower: Follower{Take: func(c *Configuration) error {
		offered <- elections(t, delivery{c: c})
		return <-answers
	}}}
	got, stop := start(t, w)
	offer := func(want string, answer error) {
		t.Helper()
		if names := <-offered; names != want {
			t.Errorf("offered %s, want %s", names, want)
		}
		answers <- answer
	}
	offer("a", nil)
	refused := errors.New("the plugin is not ready")
	replace(t, path, head+"elections: [{name: b}]")
	offer("b", refused)
	if d := <-got; !errors.Is(d.err, refused) {
		t.Error(d.err)
	}
	w.firstAgain = time.Millisecond // the watcher waits for us
	replace(t, path, head+"elections: [{name: b}] # please take it now")
	offer("b", errors.New("another cause"))
	if d := <-got; d.err == nil {
		t.Error("the other cause was not said")
	}
	for range 3 {
		offer("b", errors.New("another cause"))
	}
	offer("b", nil)
	replace(t, path, head+"elections: [{name: c}]")
	offer("c", nil)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if len(got) > 0 {
		t.Errorf("a cause was said twice: %v", <-got)
	}
}

// TestWatchIsNotHeldUpByAPipe checks that the path may be a pipe that nobody writes to: the watch
// goes on, and ends with its context.
func TestWatchIsNotHeldUpByAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "primacy.yaml")
	replace(t, path, head+"elections: [{name: a}]")
	got, stop := start(t, &watcher{path: path})
	<-got
	if err := syscall.Mkfifo(path+".new", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if d := <-got; d.err == nil || !strings.Contains(d.err.Error(), "it is not a regular file (put a file there)") {
		t.Error(d.err)
	}
	replace(t, path, head+"elections: [{name: b}]")
	if names := elections(t, <-got); names != "b" {
		t.Error(names)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestWatchProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "primacy.yaml")
	replace(t, path, head+"elections: [{name: a}]")
	t.Setenv("PRIMACY_CONFIG", path)
	t.Setenv("PRIMACY_REVISION", "canary")
	p, err := LoadProcess(nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	deliveries := 0
	write := make(chan error, 1)
	go func() { // joined by reading write
		write <- os.WriteFile(path, []byte(head+"member: {revision: stable}\nelections: [{name: b}]"), 0o644)
	}()
	err = p.Watch(ctx, Follower{Take: func(c *Configuration) error {
		deliveries++
		if elections(t, delivery{c: c}) == "b" {
			if c.Member.Revision != "canary" {
				t.Error("the environment was forgotten:", c.Member)
			}
			cancel()
		}
		return nil
	}, Refuse: func(error) { deliveries++ }})
	if err != nil || <-write != nil {
		t.Error(err)
	}
	if deliveries == 0 {
		t.Error("nothing was delivered")
	}
}

// TestWatchSaysThatALookStalls checks that Watch says so while a configuration is not taken up in time, and when that is over.
func TestWatchSaysThatALookStalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "primacy.yaml")
	replace(t, path, head+"elections: [{name: a}]")
	stalled, over := make(chan struct{}), make(chan struct{})
	_, stop := start(t, &watcher{path: path, Follower: Follower{
		Take:   func(*Configuration) error { <-stalled; return nil },
		Stalls: func() func() { close(stalled); return func() { close(over) } },
		Slow:   time.Millisecond,
	}})
	<-over
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestWatchDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	path := filepath.Join(dir, "primacy.yaml")
	if err := Watch(t.Context(), path, Follower{}); err == nil || !strings.Contains(err.Error(), "watch configuration: ") {
		t.Error(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	replace(t, path, head+"elections: [{name: a}]")
	got, stop := start(t, &watcher{path: path})
	if names := elections(t, <-got); names != "a" {
		t.Error(names)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if d := <-got; !errors.Is(d.err, fs.ErrNotExist) {
		t.Error(d.err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	replace(t, path, head+"elections: [{name: b}]")
	if names := elections(t, <-got); names != "b" {
		t.Error(names)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
