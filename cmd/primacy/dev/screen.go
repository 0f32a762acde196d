package dev

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
)

// screen is the live view of a run on a terminal. A nil screen shows nothing and never
// ends. Its fields belong to the goroutine of view.Screen.
type screen struct {
	*view.Screen
	snapshot snapshot
	chosen   int // the member that keys act on
	commands chan<- command
}

// openScreen takes over the terminal. Keys become commands.
func openScreen(ctx context.Context, o Options, first snapshot, commands chan<- command, options ...tea.ProgramOption) *screen {
	s := &screen{snapshot: first, commands: commands}
	s.Screen = view.Open(ctx, view.Show{
		In: o.Stdin, Out: o.Stdout, Name: "primacy dev", Press: s.press,
		Page: func(width, height int) view.Page { return s.snapshot.page(s.chosen, width, height) },
	}, options...)
	return s
}

// show makes the screen show a new snapshot.
func (s *screen) show(now snapshot) {
	if s != nil {
		s.Do(func() { s.snapshot = now })
	}
}

// ended delivers when the view has ended by itself, and why.
func (s *screen) ended() <-chan error {
	if s == nil {
		return nil
	}
	return s.Ended()
}

// press carries out a key.
func (s *screen) press(key string) {
	switch key {
	case "up":
		s.chosen = max(0, s.chosen-1)
	case "down":
		s.chosen = min(len(s.snapshot.members)-1, s.chosen+1)
	case "r":
		s.order(command{verb: switchRevision})
	case "k", "s":
		if s.chosen < len(s.snapshot.members) {
			s.order(command{verb: verb(key), argument: s.snapshot.members[s.chosen].name})
		}
	case "q", "ctrl+c":
		s.order(command{verb: quit})
	}
}

// order sends a command, and drops it if the channel is full.
func (s *screen) order(c command) {
	select {
	case s.commands <- c:
	default:
	}
}
