package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Program is a plugin as it will be executed: a copy in memory that nobody can change. The copy is
// freed when nothing refers to the Program any more.
type Program struct {
	Name string
	// SHA256 is the hash of the copy, in hexadecimal digits.
	SHA256 string

	memory *os.File

	mu sync.Mutex
	// accepted are the hashes of the configurations that the plugin has accepted.
	accepted map[[sha256.Size]byte]bool
}

// accept records that the plugin has accepted the configuration with that hash.
func (p *Program) accept(hash [sha256.Size]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted[hash] = true
}

// hasAccepted says whether the plugin has accepted the configuration with that hash before.
func (p *Program) hasAccepted(hash [sha256.Size]byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted[hash]
}

const seals = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL

// seal copies a file into memory, seals the copy, and then hashes it. So we execute what we hashed,
// even if the file changes meanwhile.
func seal(name string, from io.Reader) (*Program, error) {
	memory, err := newMemory(name)
	if err != nil {
		return nil, fmt.Errorf("memory to execute it from: %w (is vm.memfd_noexec 2?)", err)
	}
	p := &Program{Name: name, memory: memory, accepted: map[[sha256.Size]byte]bool{}}
	if err := p.fill(from); err != nil {
		_ = memory.Close()
		return nil, err
	}
	return p, nil
}

func newMemory(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 all memory was executable
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil // #nosec G115 -- a descriptor is a small number
}

func (p *Program) fill(from io.Reader) error {
	n, err := io.Copy(p.memory, io.LimitReader(from, largest+1))
	switch {
	case err != nil:
		return fmt.Errorf("read it: %w", err)
	case n > largest:
		return errors.New("it grows while it is read")
	}
	if _, err := unix.FcntlInt(p.memory.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("seal it: %w", err)
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(p.memory, 0, n)); err != nil {
		return fmt.Errorf("hash it: %w", err)
	}
	p.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return nil
}

// Close frees the copy early. The program must not be used any more.
func (p *Program) Close() error { return p.memory.Close() }
