package plugin

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSealedForGood(t *testing.T) {
	p, err := seal("p", strings.NewReader("a program"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.memory.Close()
	if want := "d69ea8cda2433733c1ce02de65da8f48e6a3dbba6bb18876a2062908e54ef7cb"; p.SHA256 != want {
		t.Errorf("hash %s, want %s", p.SHA256, want)
	}
	if _, err := p.memory.WriteAt([]byte("b"), 0); err == nil {
		t.Error("it can be written")
	}
	if err := p.memory.Truncate(1); err == nil {
		t.Error("it can be cut")
	}
	if err := p.memory.Truncate(100); err == nil {
		t.Error("it can grow")
	}
	if got, err := unix.FcntlInt(p.memory.Fd(), unix.F_GET_SEALS, 0); err != nil || got&seals != seals {
		t.Errorf("seals %#x (%v), want %#x", got, err, seals)
	}
}
