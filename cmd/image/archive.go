package main

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// user is a number, so that the kubelet can tell that it is not root (runAsNonRoot).
	user = "65532:65532"
	// entrypoint is the only file of the image. Nobody can write it, not even its owner.
	entrypoint     = "/primacy"
	entrypointMode = 0o555
)

// labels tell what the image is. None of them depends on when or where it was built.
func labels(s stamp) map[string]string {
	l := map[string]string{
		"org.opencontainers.image.title":       "primacy",
		"org.opencontainers.image.description": "Leader election for Kubernetes control planes",
		"org.opencontainers.image.source":      "https://github.com/primacy-dev/primacy",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     s.version,
		"org.opencontainers.image.created":     s.time().Format(time.RFC3339),
	}
	if s.commit != "" {
		l["org.opencontainers.image.revision"] = s.commit
	}
	return l
}

// tag is the name that tools which read OCI layouts give to the image.
func tag(s stamp) map[string]string {
	return map[string]string{"org.opencontainers.image.ref.name": s.version}
}

// write makes the images, one for each program, and their archive. It returns the digest of the image, or of the index
// if there are several.
func write(out, work string, programs []program, s stamp) (v1.Hash, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	entries := index
	var top partial.Describable
	for _, p := range programs {
		i, err := image(p, s)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("image for %v: %w", p.platform, err)
		}
		d := v1.Descriptor{Platform: &v1.Platform{OS: p.platform.system, Architecture: p.platform.arch}}
		if len(programs) == 1 {
			d.Annotations = tag(s)
		}
		top, index = i, mutate.AppendManifests(index, mutate.IndexAddendum{Add: i, Descriptor: d})
	}
	if len(programs) == 1 {
		entries = index
	} else {
		top, entries = index, mutate.AppendManifests(entries, mutate.IndexAddendum{Add: index, Descriptor: v1.Descriptor{Annotations: tag(s)}})
	}
	digest, err := top.Digest()
	if err != nil {
		return v1.Hash{}, fmt.Errorf("digest: %w", err)
	}
	folder := filepath.Join(work, "layout")
	if _, err := layout.Write(folder, entries); err != nil {
		return v1.Hash{}, fmt.Errorf("write the OCI layout: %w", err)
	}
	return digest, pack(out, folder, s.time())
}

// image is a program on an empty base.
func image(p program, s stamp) (v1.Image, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return files(p, s.time()) }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	made := v1.Time{Time: s.time()}
	with, err := mutate.Append(base, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{
		Created: made, CreatedBy: "make image", Comment: entrypoint,
	}})
	if err != nil {
		return nil, fmt.Errorf("add the layer: %w", err)
	}
	c, err := with.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	c = c.DeepCopy()
	c.Created, c.OS, c.Architecture = made, p.platform.system, p.platform.arch
	c.Config = v1.Config{User: user, Entrypoint: []string{entrypoint}, WorkingDir: "/", Labels: labels(s)}
	with, err = mutate.ConfigFile(with, c)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return mutate.Annotations(with, maps.Clone(labels(s))).(v1.Image), nil
}

// files is the tree of the image, as a tar stream.
func files(p program, at time.Time) (io.ReadCloser, error) {
	f, err := os.Open(p.path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	r, w := io.Pipe()
	go func() { // ends with the stream: whoever reads closes it, and then no write succeeds
		defer f.Close()
		t := tar.NewWriter(w)
		err := t.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: entrypoint[1:], Size: info.Size(), Mode: entrypointMode, ModTime: at, Format: tar.FormatUSTAR,
		})
		if err == nil {
			_, err = io.Copy(t, f)
		}
		if err == nil {
			err = t.Close()
		}
		_ = w.CloseWithError(err) // never fails
	}()
	return r, nil
}

// pack puts a folder into a tar archive, in the order of names. Nothing of the files but their content gets into it.
func pack(out, folder string, at time.Time) (err error) {
	f, err := os.OpenFile(out, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644) // #nosec G302 -- an image is no secret
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	defer func() {
		if closing := f.Close(); err == nil && closing != nil {
			err = fmt.Errorf("archive %s: %w", out, closing)
		}
	}()
	t := tar.NewWriter(f)
	tree := os.DirFS(folder)
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		h := &tar.Header{Name: name, ModTime: at, Format: tar.FormatUSTAR}
		if d.IsDir() {
			h.Typeflag, h.Name, h.Mode = tar.TypeDir, name+"/", 0o755
			return t.WriteHeader(h)
		}
		content, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		h.Typeflag, h.Size, h.Mode = tar.TypeReg, int64(len(content)), 0o644
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err = t.Write(content)
		return err
	})
	if err == nil {
		err = t.Close()
	}
	if err != nil {
		return fmt.Errorf("archive %s: %w", out, err)
	}
	return nil
}
