package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// stamp is what an image says of its sources. Equal sources with equal stamps give equal images.
type stamp struct {
	version, commit string
	// seconds is the time of everything in the image, since 1970.
	seconds int64
}

func (s stamp) time() time.Time { return time.Unix(s.seconds, 0).UTC() }

// platform is what a program is built for.
type platform struct{ system, arch string }

func parsePlatform(word string) (platform, error) {
	system, arch, found := strings.Cut(word, "/")
	if !found || system != "linux" || arch == "" || strings.Contains(arch, "/") {
		return platform{}, fmt.Errorf("platform %q: primacy runs on Linux only (write linux/amd64 or linux/arm64)", word)
	}
	return platform{system, arch}, nil
}

func (p platform) String() string { return p.system + "/" + p.arch }

// program is a built program.
type program struct {
	platform platform
	path     string
}

// versionSymbol is the variable that `primacy version` prints.
const versionSymbol = "github.com/primacy-dev/primacy/cmd/primacy/app.version"

// compile builds cmd/primacy. Nothing of this machine gets into the program: no path (-trimpath), no state of the
// checkout (-buildvcs=false), no C library, and no setting of Go in the environment that changes what is built.
func compile(ctx context.Context, root, work string, p platform, s stamp) (program, error) {
	built := program{p, filepath.Join(work, "primacy-"+p.arch)}
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly",
		"-ldflags", "-s -w -buildid= -X "+versionSymbol+"="+s.version, "-o", built.path, "./cmd/primacy")
	c.Dir = root
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.system, "GOARCH="+p.arch,
		"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off")
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Run(); err != nil {
		return program{}, fmt.Errorf("build cmd/primacy for %v in %s: %w (what go build said follows)\n%s", p, root, err, said.Bytes())
	}
	return built, nil
}
