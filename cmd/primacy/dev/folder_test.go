package dev

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	there := func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	}
	// One folder whose run goes on, one whose run was killed, and three that must not be removed.
	living, err := makeFolder()
	if err != nil {
		t.Fatal(err)
	}
	killed, err := makeFolder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(killed.file("kubeconfig"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := killed.lock.Close(); err != nil { // as the kernel does when it kills a run
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	unlocked, other, link := filepath.Join(os.TempDir(), prefix+"new"), filepath.Join(os.TempDir(), "other"), filepath.Join(os.TempDir(), prefix+"link")
	for _, dir := range []string{unlocked, other} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}

	mine, err := makeFolder()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		living.path: true, killed.path: false, mine.path: true, unlocked: true, other: true, link: true, elsewhere: true,
	} {
		if there(path) != want {
			t.Errorf("%s is there: %v, want %v", path, !want, want)
		}
	}
	for _, f := range []*folder{mine, living} {
		if err := f.close(); err != nil || there(f.path) {
			t.Errorf("%s was not removed: %v", f.path, err)
		}
	}
}

// TestFolderLostRace checks that a run gives up a folder that another run has locked or removed first.
func TestFolderLostRace(t *testing.T) {
	dir := t.TempDir()
	held, err := claim(dir)
	if err != nil || held == nil {
		t.Fatalf("claim: %v, %v", held, err)
	}
	defer held.Close()
	if again, err := claim(dir); again != nil || err != nil {
		t.Errorf("claimed twice: %v", err)
	}
	if gone, err := claim(filepath.Join(dir, "gone")); gone != nil || err != nil {
		t.Errorf("claimed what is not there: %v", err)
	}
}
