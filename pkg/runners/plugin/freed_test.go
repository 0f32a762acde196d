package plugin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/pkg/runners/plugin"
)

// copies counts the copies in memory of the plugin with that name.
func copies(t *testing.T, name string) (n int) {
	t.Helper()
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range open {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "/memfd:"+name+" ") {
			n++
		}
	}
	return n
}

// TestCopiesAreFreed checks that a kind remembers a plugin for as long as a runner uses it, and no longer: each reload may
// bring a new one, also a reload that is refused.
func TestCopiesAreFreed(t *testing.T) {
	dir, hash := folderWithSelf(t)
	kind := plugin.Kind(plugin.Folder(dir))
	used, err := decode(t, kind, "{name: work, sha256: "+hash+", env: [{name: "+actVariable+", value: obey}]}")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		refused := write(t, filepath.Join(dir, "garbage"), fmt.Sprint("no program ", i), 0o700)
		if _, err := decode(t, kind, "{name: garbage, sha256: "+refused+"}"); err == nil {
			t.Fatal("garbage is accepted")
		}
	}
	for range 100 { // the file of a copy is closed some time after the collection that found nobody to use it
		runtime.GC()
		if copies(t, "garbage") == 0 {
			break
		}
	}
	if n := copies(t, "garbage"); n > 0 {
		t.Errorf("%d copies are left that nobody uses", n)
	}
	if err := os.Remove(filepath.Join(dir, "work")); err != nil {
		t.Fatal(err)
	}
	if _, err := decode(t, kind, "{name: work, sha256: "+hash+", env: [{name: "+actVariable+", value: obey}]}"); err != nil {
		t.Errorf("a plugin that is used is not remembered: %v", err)
	}
	runtime.KeepAlive(used)
}
