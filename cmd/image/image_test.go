package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const (
	made   = "2026-03-01T12:00:00Z"
	second = "1772366400"
	commit = "0123456789abcdef0123456789abcdef01234567"
)

// build makes the archive of the sources below root.
func build(t *testing.T, root string) (archive []byte, digest string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "image.tar")
	var said bytes.Buffer
	if err := run(t.Context(), []string{
		"--root", root, "--out", out, "--platforms", "linux/" + runtime.GOARCH, "--version", "v1.2.3", "--commit", commit, "--time", second,
	}, &said, t.Output()); err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	digest, _, _ = strings.Cut(said.String(), " ")
	return archive, digest
}

// elsewhere is a copy of the repository without its history, at another path and with other times.
func elsewhere(t *testing.T, root string) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case name == "bin" || name != "." && strings.HasPrefix(name, "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o750)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), content, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// TestImage builds the image twice, from two folders, and looks at everything that is in it.
func TestImage(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	archive, digest := build(t, root)
	t.Run("a second build is the same", func(t *testing.T) {
		again, other := build(t, elsewhere(t, root))
		t.Logf("%s\n%s", digest, other)
		if other != digest {
			t.Errorf("digests %s and %s", digest, other)
		}
		if !bytes.Equal(archive, again) {
			t.Error("the archives differ")
		}
	})
	folder := t.TempDir()
	unpack(t, bytes.NewReader(archive), folder)
	image := open(t, folder, digest)
	t.Run("the layout is valid", func(t *testing.T) {
		if err := validate.Image(image); err != nil {
			t.Error(err)
		}
	})
	t.Run("manifest", func(t *testing.T) { checkManifest(t, image) })
	t.Run("configuration", func(t *testing.T) { checkConfig(t, image) })
	tree := t.TempDir()
	t.Run("files", func(t *testing.T) { checkFiles(t, unpack(t, mutate.Extract(image), tree)) })
	t.Run("the program needs no library", func(t *testing.T) { checkStatic(t, filepath.Join(tree, entrypoint)) })
	t.Run("the program runs", func(t *testing.T) { runs(t, tree) })
}

// open reads the only image of a layout, which must have the digest.
func open(t *testing.T, folder, digest string) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	list, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Manifests) != 1 {
		t.Fatalf("%d images, want 1", len(list.Manifests))
	}
	d := list.Manifests[0]
	if d.Digest.String() != digest {
		t.Errorf("the layout has %v, but %s was printed", d.Digest, digest)
	}
	if got := d.Annotations["org.opencontainers.image.ref.name"]; got != "v1.2.3" {
		t.Errorf("the name in the layout is %q", got)
	}
	if d.Platform == nil || d.Platform.String() != "linux/"+runtime.GOARCH {
		t.Errorf("the platform is %v", d.Platform)
	}
	image, err := index.Image(d.Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func checkManifest(t *testing.T, image v1.Image) {
	m, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if m.MediaType != types.OCIManifestSchema1 || m.Config.MediaType != types.OCIConfigJSON {
		t.Errorf("media types %s and %s", m.MediaType, m.Config.MediaType)
	}
	if len(m.Layers) != 1 || m.Layers[0].MediaType != types.OCILayer {
		t.Errorf("layers %v", m.Layers)
	}
}

func checkConfig(t *testing.T, image v1.Image) {
	c, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c.OS != "linux" || c.Architecture != runtime.GOARCH {
		t.Errorf("platform %s/%s", c.OS, c.Architecture)
	}
	if c.Config.User != "65532:65532" {
		t.Errorf("user %q: a kubelet takes only a number other than 0 for non-root", c.Config.User)
	}
	if strings.Join(c.Config.Entrypoint, " ") != "/primacy" || len(c.Config.Cmd) != 0 || len(c.Config.Env) != 0 {
		t.Errorf("entrypoint %q, command %q, environment %q", c.Config.Entrypoint, c.Config.Cmd, c.Config.Env)
	}
	if got := c.Created.Format("2006-01-02T15:04:05Z07:00"); got != made {
		t.Errorf("made at %s, want %s", got, made)
	}
	for name, want := range map[string]string{"title": "primacy", "version": "v1.2.3", "revision": commit, "created": made, "licenses": "Apache-2.0"} {
		if got := c.Config.Labels["org.opencontainers.image."+name]; got != want {
			t.Errorf("label %s is %q, want %q", name, got, want)
		}
	}
}

// checkFiles wants exactly one file: no shell, no certificates, and nothing that anybody may write.
func checkFiles(t *testing.T, files []*tar.Header) {
	if len(files) != 1 {
		t.Errorf("%d entries, want only %s", len(files), entrypoint)
	}
	for _, f := range files {
		if f.Name != "primacy" || f.Typeflag != tar.TypeReg || f.Mode != 0o555 || f.Uid != 0 || f.Gid != 0 {
			t.Errorf("%s: type %c, mode %o, owner %d:%d", f.Name, f.Typeflag, f.Mode, f.Uid, f.Gid)
		}
		if got := f.ModTime.UTC().Format("2006-01-02T15:04:05Z07:00"); got != made {
			t.Errorf("%s is of %s", f.Name, got)
		}
	}
}

func checkStatic(t *testing.T, path string) {
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("it is linked dynamically (%v)", p.Type)
		}
	}
}

// runs starts the program with the tree as its root, as the image's user where this process may choose one. Where it may
// not change the root, it starts the program by its path, and says so.
func runs(t *testing.T, tree string) {
	start := func(name string, how *syscall.SysProcAttr) (string, error) {
		var said bytes.Buffer
		c := exec.CommandContext(t.Context(), name, "version")
		c.Dir, c.Env, c.SysProcAttr, c.Stdout, c.Stderr = "/", []string{}, how, &said, &said
		err := c.Run()
		return said.String(), err
	}
	how := &syscall.SysProcAttr{Chroot: tree, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	if os.Geteuid() != 0 {
		how = &syscall.SysProcAttr{
			Chroot: tree, Cloneflags: syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 65532, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 65532, HostID: os.Getegid(), Size: 1}},
		}
	}
	said, err := start(entrypoint, how)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Logf("this machine lets us change no root (%v): the program runs by its path", err)
		said, err = start(filepath.Join(tree, entrypoint), nil)
	}
	if err != nil || !strings.Contains(said, "v1.2.3") {
		t.Errorf("primacy version: %v\n%s", err, said)
	}
}

// unpack writes the files of a tar stream into a folder, and lists its entries.
func unpack(t *testing.T, from io.Reader, folder string) (entries []*tar.Header) {
	t.Helper()
	in := tar.NewReader(from)
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, h)
		if h.Typeflag == tar.TypeDir {
			if err := root.MkdirAll(strings.TrimSuffix(h.Name, "/"), 0o750); err != nil {
				t.Fatal(err)
			}
			continue
		}
		f, err := root.OpenFile(h.Name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, fs.FileMode(h.Mode).Perm())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(f, in); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMistakes checks what wrong flags say.
func TestMistakes(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "no archive to write (give --out FILE)"},
		{[]string{"--out", "x", "--platforms", "darwin/arm64"}, `platform "darwin/arm64": primacy runs on Linux only`},
		{[]string{"--out", "x", "--root", t.TempDir()}, "build cmd/primacy for linux/amd64 in "},
	} {
		err := run(t.Context(), tt.args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.args, err, tt.want)
		}
	}
}

// TestIndex checks that images for several platforms stand in one index, each with its platform.
func TestIndex(t *testing.T) {
	work := t.TempDir()
	var programs []program
	for _, arch := range []string{"amd64", "arm64"} {
		p := program{platform{"linux", arch}, filepath.Join(work, arch)}
		if err := os.WriteFile(p.path, []byte(arch), 0o600); err != nil {
			t.Fatal(err)
		}
		programs = append(programs, p)
	}
	out := filepath.Join(work, "image.tar")
	digest, err := write(out, work, programs, stamp{version: "v1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	folder := t.TempDir()
	unpack(t, f, folder)
	top, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	index, err := top.ImageIndex(digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	list, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, d := range list.Manifests {
		platforms = append(platforms, d.Platform.String())
	}
	if got := strings.Join(platforms, " "); got != "linux/amd64 linux/arm64" {
		t.Errorf("platforms %s", got)
	}
}
