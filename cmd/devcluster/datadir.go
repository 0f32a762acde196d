package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// lifetime says whether a data folder outlives the process.
type lifetime int

const (
	kept lifetime = iota + 1
	temporary
)

// dataDir is the folder that holds all state. It is locked, and it is the
// process's working directory, so that the path of etcd's socket is relative and
// short (a socket's path may have 107 bytes at most).
type dataDir struct {
	path     string
	lifetime lifetime
	lock     *os.File

	mu        sync.Mutex
	published map[string][]byte // files elsewhere that are useless without this folder, by path
	closed    bool
}

// openDataDir enters the folder at path, which it creates if need be. If path is empty, it enters a new
// temporary folder.
func openDataDir(path string) (*dataDir, error) {
	d := &dataDir{path: path, lifetime: kept}
	if path == "" {
		tmp, err := os.MkdirTemp("", "devcluster-")
		if err != nil {
			return nil, fmt.Errorf("create temporary data folder: %w (is $TMPDIR writable? --data-dir names another folder)", err)
		}
		// TMPDIR may be relative, and the working directory is about to change.
		if tmp, err = filepath.Abs(tmp); err != nil {
			return nil, fmt.Errorf("find temporary data folder: %w", err)
		}
		d.path, d.lifetime = tmp, temporary
	} else if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("create data folder: %w", err)
	}
	if err := d.enter(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *dataDir) enter() error {
	lock, err := os.OpenFile(d.file("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock data folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("data folder %s is in use by another devcluster (stop that one, or give another --data-dir)", d.path)
		}
		return fmt.Errorf("lock data folder: %w", err)
	}
	d.lock = lock
	if err := os.Chdir(d.path); err != nil {
		return fmt.Errorf("enter data folder: %w", err)
	}
	return nil
}

// file returns the absolute path of a file in the folder.
func (d *dataDir) file(name ...string) string {
	return filepath.Join(append([]string{d.path}, name...)...)
}

// publish writes a file outside the folder. If the folder is temporary, Close removes the file together
// with it.
func (d *dataDir) publish(path string, content []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return os.ErrClosed
	}
	if err := writeFile(path, content); err != nil {
		return err
	}
	if d.published == nil {
		d.published = make(map[string][]byte)
	}
	d.published[path] = content
	return nil
}

// Close unlocks the folder. If the folder is temporary, Close removes it and all published
// files. Close may be called from any goroutine, more than once.
func (d *dataDir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	var err error
	if d.lifetime == temporary {
		for path, content := range d.published {
			err = errors.Join(err, withdraw(path, content))
		}
		err = errors.Join(err, removeAll(d.path))
	}
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}

// withdraw removes a published file, unless a later server has written its own
// to the same path by now.
func withdraw(path string, content []byte) error {
	if found, err := os.ReadFile(path); err != nil || !bytes.Equal(found, content) {
		return nil
	}
	return os.Remove(path)
}

// removeAll tries more than once, because an etcd that did not get the time
// to close may still be creating files.
func removeAll(path string) error {
	var err error
	for range 5 {
		if err = os.RemoveAll(path); err == nil {
			return nil
		}
	}
	return fmt.Errorf("remove temporary data folder: %w", err)
}
