package span

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReadWhileWritten checks that ReadNotes leaves out a line that is still being written, wherever it is cut.
func TestReadWhileWritten(t *testing.T) {
	const whole, last = "begin e1 5 100\nend e1 5 200\n", "begin e2 6 3000\n"
	for n := range len(last) {
		file := filepath.Join(t.TempDir(), "notes")
		if err := os.WriteFile(file, []byte(whole+last[:n]), 0o600); err != nil {
			t.Fatal(err)
		}
		spans, err := ReadNotes(file, 9000)
		if err != nil || len(spans) != 1 || spans[0].Till != 200 {
			t.Errorf("%q: %+v, %v", last[:n], spans, err)
		}
	}
}
