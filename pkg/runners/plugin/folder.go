package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// Folder is the directory of plugins: the only place from which a program runs plugins.
type Folder string

var nameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$`)

// Names lists the files that may be plugins, sorted: those with an allowed name. It verifies
// nothing.
func (f Folder) Names() ([]string, error) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return nil, fmt.Errorf("plugin folder: %w", err)
	}
	var names []string
	for _, e := range entries {
		if nameForm.MatchString(e.Name()) && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// largest is the most bytes of a plugin: it is held in memory.
const largest = 512 << 20

// Load reads a plugin; it does not check its hash. The error says what is wrong with the file.
func (f Folder) Load(name string) (*Program, error) {
	if !nameForm.MatchString(name) {
		return nil, fmt.Errorf("plugin %q: a name has small letters, digits, and . _ - between them; it is no path", name)
	}
	file, err := f.open(name)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", name, err)
	}
	defer file.Close()
	p, err := seal(name, file)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", name, err)
	}
	return p, nil
}

func (f Folder) open(name string) (*os.File, error) {
	path := filepath.Join(string(f), name)
	// Non-blocking: we don't wait for the writer of a named pipe.
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, fmt.Errorf("%s is a symbolic link (put the file itself into the folder)", path)
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	file := os.NewFile(uintptr(fd), path) // #nosec G115 -- a descriptor is a small number
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is no regular file", path)
	case info.Mode()&0o111 == 0:
		err = fmt.Errorf("%s is not executable (chmod +x)", path)
	case info.Size() > largest:
		err = fmt.Errorf("%s has %d MiB, more than %d", path, info.Size()>>20, largest>>20)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// machine is the platform of this program and its plugins, for hints.
const machine = runtime.GOOS + "/" + runtime.GOARCH
