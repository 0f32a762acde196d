package dev

import (
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/revisions"
)

// Options say what to run. Program, Connect, Check, Sources and the files are required.
type Options struct {
	// Program is the path of `primacy`, which members and their demo runners run.
	Program string
	// Devcluster is the path of the API server; empty means beside Program.
	Devcluster string
	// Config is the path of a configuration; empty means examples.Dev.
	Config string
	// Members is the number of members. Two thirds of them, rounded up, are of the stable
	// revision.
	Members int
	// For is how long to run once the members are started; zero means until a person ends the run.
	For time.Duration
	// Verbose shows what members log. It rules out the live view.
	Verbose bool

	// Connect reads a kubeconfig.
	Connect Connect
	// Check finds mistakes that config.Parse does not see.
	Check func(*config.Configuration) error
	// Sources makes the registry of sources of the preferred revision.
	Sources func(*rest.Config) (*revisions.Registry, error)

	// Stdin and Stdout are the person's.
	Stdin, Stdout *os.File
}

// Connect reads from a kubeconfig how to reach the API server, and the namespace.
type Connect func(kubeconfig string) (c *rest.Config, namespace string, err error)

// mostMembers is as many as a small machine can run.
const mostMembers = 50

// Validate checks the options that people choose.
func (o *Options) Validate() error {
	if o.Members < 1 || o.Members > mostMembers {
		return fmt.Errorf("--members: want 1 to %d, got %d", mostMembers, o.Members)
	}
	if o.For < 0 {
		return errors.New("--for: must not be negative")
	}
	return nil
}
