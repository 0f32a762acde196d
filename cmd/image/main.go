// Command image builds primacy into an OCI image, without a container runtime and without a registry.
//
// The image is an OCI layout in one tar archive. It holds one file, the static program /primacy, on an empty base. The
// same sources, stamp and Go version give the same archive, byte for byte: see build.go and archive.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(os.Stderr, "image: %v\n", err)
		}
		stop()
		os.Exit(1)
	}
}

// run builds the programs and their image, and prints the digest of what a registry would store.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var (
		s         stamp
		root, out string
		list      string
	)
	f := flag.NewFlagSet("image", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&root, "root", ".", "folder of the module that has cmd/primacy")
	f.StringVar(&out, "out", "", "the archive to write")
	f.StringVar(&list, "platforms", "linux/amd64", "for which platforms, separated by commas; more than one make an index")
	f.StringVar(&s.version, "version", "dev", "version of the program, and tag in the archive")
	f.StringVar(&s.commit, "commit", "", "commit of the sources, for a label")
	f.Int64Var(&s.seconds, "time", 0, "time of all files and of the image, in seconds since 1970; take that of the commit")
	if err := f.Parse(args); err != nil {
		return err
	}
	if out == "" {
		return errors.New("no archive to write (give --out FILE)")
	}
	var platforms []platform
	for _, word := range strings.Split(list, ",") {
		p, err := parsePlatform(word)
		if err != nil {
			return err
		}
		platforms = append(platforms, p)
	}
	work, err := os.MkdirTemp("", "primacy-image-")
	if err != nil {
		return fmt.Errorf("folder for the build: %w", err)
	}
	defer os.RemoveAll(work)
	var programs []program
	for _, p := range platforms {
		built, err := compile(ctx, root, work, p, s)
		if err != nil {
			return err
		}
		programs = append(programs, built)
	}
	digest, err := write(out, work, programs, s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s %s\n", digest, out)
	return err
}
