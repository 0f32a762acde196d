package dev

import (
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"
)

// screen is the live view of a run on a terminal. A nil screen shows nothing and never ends.
type screen struct {
	program *tea.Program
	done    chan error
}

// openScreen takes the terminal over. Keys become commands.
func openScreen(ctx context.Context, o Options, first snapshot, commands chan<- command, options ...tea.ProgramOption) *screen {
	s := &screen{done: make(chan error, 1)}
	options = append(options, tea.WithInput(o.Stdin), tea.WithOutput(o.Stdout), tea.WithoutSignalHandler(), tea.WithContext(ctx))
	s.program = tea.NewProgram(model{snapshot: first, commands: commands}, options...)
	go func() { // joined by the receive from done in close
		_, err := s.program.Run()
		if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
			err = nil
		}
		s.done <- err
	}()
	return s
}

// show shows how things are now.
func (s *screen) show(now snapshot) {
	if s != nil {
		s.program.Send(now)
	}
}

// ended tells that the view has ended by itself, and why.
func (s *screen) ended() <-chan error {
	if s == nil {
		return nil
	}
	return s.done
}

// close gives the terminal back.
func (s *screen) close() {
	s.program.Quit()
	s.program.Wait()
}

// model is what the view is made from. Commands are dropped while nobody takes them.
type model struct {
	snapshot      snapshot
	width, height int
	chosen        int // the member that keys act on
	commands      chan<- command
}

// Init implements tea.Model.
func (m model) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case snapshot:
		m.snapshot = msg
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		m.press(msg.String())
	}
	return m, nil
}

// press does what a key means.
func (m *model) press(key string) {
	switch key {
	case "up":
		m.chosen = max(0, m.chosen-1)
	case "down":
		m.chosen = min(len(m.snapshot.members)-1, m.chosen+1)
	case "r":
		m.order(command{verb: switchRevision})
	case "k", "s":
		if m.chosen < len(m.snapshot.members) {
			m.order(command{verb: verb(key), argument: m.snapshot.members[m.chosen].name})
		}
	case "q", "ctrl+c":
		m.order(command{verb: quit})
	}
}

func (m *model) order(c command) {
	select {
	case m.commands <- c:
	default:
	}
}

// View implements tea.Model.
func (m model) View() tea.View {
	v := tea.NewView(render(m.snapshot, m.chosen, m.width, m.height))
	v.AltScreen = true
	v.WindowTitle = "primacy dev"
	return v
}
