package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Edit is a change of one file that breaks a rule.
type Edit struct {
	// File is the file's path below the root of the repository.
	File string
	// Old must occur exactly once in the file. New replaces it.
	Old, New string
}

// Apply returns the file's text after the edit. If the edit no longer fits the code, the error says what
// to change in the edit.
func (e Edit) Apply(root string) ([]byte, error) {
	text, err := os.ReadFile(e.path(root))
	if err != nil {
		return nil, fmt.Errorf("read what a mutant edits: %w", err)
	}
	if e.Old == e.New {
		return nil, fmt.Errorf("%s: the mutant changes nothing", e.File)
	}
	if n := strings.Count(string(text), e.Old); n != 1 {
		return nil, fmt.Errorf("%s contains the text that the mutant replaces %d times, want once (if the code has changed, change the mutant, too):\n%s", e.File, n, e.Old)
	}
	return []byte(strings.Replace(string(text), e.Old, e.New, 1)), nil
}

func (e Edit) path(root string) string { return filepath.Join(root, filepath.FromSlash(e.File)) }

// Compile compiles the tests of the package pkg below root with the edit, into the folder dir. The zero
// Edit leaves the code as it is. A mutant that does not compile is an error: no test found it.
func (e Edit) Compile(ctx context.Context, root, pkg, dir string) (binary string, err error) {
	args := []string{"test", "-c", "-trimpath", "-vet=off", "-ldflags=-s -w"}
	if e != (Edit{}) {
		text, err := e.Apply(root)
		if err != nil {
			return "", err
		}
		overlay, err := e.overlay(root, dir, text)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", overlay)
	}
	binary = filepath.Join(dir, "mutant.test")
	c := exec.CommandContext(ctx, "go", append(args, "-o", binary, ".")...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")        // as the Makefile builds
	c.Dir = filepath.Join(root, filepath.FromSlash(pkg)) // the package may be in a module of its own
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("does not compile: %w\n%s", err, out)
	}
	return binary, nil
}

// overlay writes the file that makes the go command use text in place of the edited file.
func (e Edit) overlay(root, dir string, text []byte) (string, error) {
	replaced, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {e.path(root): replaced}})
	if err != nil {
		return "", fmt.Errorf("overlay of a mutant: %w", err)
	}
	if err := errors.Join(os.WriteFile(replaced, text, 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		return "", fmt.Errorf("overlay of a mutant: %w", err)
	}
	return overlay, nil
}

// Root is the root of the repository above the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("root of the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "house_test.go")); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("root of the repository: not above the working directory")
		}
		dir = above
	}
}
