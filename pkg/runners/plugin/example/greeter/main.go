// Command greeter is an example of a plugin: it greets as long as it leads.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners/plugin/sdk"
)

func main() {
	sdk.Serve(sdk.Plugin{Name: "greeter", Version: "1.0.0", Ready: ready, Run: greet})
}

type settings struct {
	Greeting string        `yaml:"greeting"`
	Every    time.Duration `yaml:"every"`
}

func parse(config []byte) (settings, error) {
	s := settings{Greeting: "hello", Every: time.Second}
	if err := yaml.Unmarshal(config, &s); err != nil {
		return s, err
	}
	if s.Every <= 0 {
		return s, errors.New("every must be more than 0")
	}
	return s, nil
}

// ready refuses a configuration before any election is won.
func ready(_ context.Context, config []byte) error {
	_, err := parse(config)
	return err
}

// greet is the work of one term. It should fence all that it writes with the term's token.
func greet(ctx context.Context, term election.Term, h *sdk.Host) error {
	s, err := parse(h.Config())
	if err != nil {
		return err
	}
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	for n := 1; ; n++ {
		h.Log(sdk.Info, fmt.Sprintf("%s from %s with token %d", s.Greeting, term.Election, term.Token))
		h.Progress(fmt.Sprintf("%d greetings", n))
		select {
		case <-tick.C:
		case <-ctx.Done(): // stop now, and return once everything has stopped
			h.Log(sdk.Info, "good bye from "+term.Election)
			return nil
		}
	}
}
