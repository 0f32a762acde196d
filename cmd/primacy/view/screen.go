package view

import (
	"context"
	"errors"
	"io"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// Show says what a screen shows and where. The screen's goroutine calls these functions, and the
// functions given to Do.
type Show struct {
	// In is where keys come from; nil for none.
	In io.Reader
	// Out is a terminal.
	Out io.Writer
	// Name is the title of the terminal's window.
	Name string
	// Page returns the present page for a terminal of the given size.
	Page func(width, height int) Page
	// Press gets each key, by names such as "q", "up" and "ctrl+c".
	Press func(key string)
}

// Screen is a terminal that shows a page. A nil Screen shows nothing and never ends.
type Screen struct {
	program *tea.Program
	running sync.WaitGroup
	done    chan error
}

// Open takes over the terminal, until Close or until ctx ends. The screen draws the page again
// after each key and each Do. The caller must call Close.
func Open(ctx context.Context, show Show, options ...tea.ProgramOption) *Screen {
	s := &Screen{done: make(chan error, 1)}
	options = append(options, tea.WithInput(show.In), tea.WithOutput(show.Out), tea.WithoutSignalHandler())
	s.program = tea.NewProgram(model{Show: show}, options...)
	over := make(chan struct{})
	s.running.Go(func() {
		_, err := s.program.Run()
		close(over)
		s.done <- err
	})
	s.running.Go(func() { // not tea.WithContext: that would leave the reader of In behind
		select {
		case <-ctx.Done():
			s.program.Quit()
		case <-over:
		}
	})
	return s
}

// Do runs f on the screen's goroutine, then draws.
func (s *Screen) Do(f func()) {
	if s != nil {
		s.program.Send(turn(f))
	}
}

// Ended delivers one value when the screen has ended by itself or was closed: nil, or the error that ended it.
func (s *Screen) Ended() <-chan error {
	if s == nil {
		return nil
	}
	return s.done
}

// Close restores the terminal, and joins the screen's goroutines.
func (s *Screen) Close() {
	s.program.Quit()
	s.running.Wait()
}

// During shows a screen while work goes on. The context of work ends when the screen does;
// when During returns, the terminal is as it was.
func During(ctx context.Context, show Show, work func(context.Context, *Screen) error, options ...tea.ProgramOption) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := Open(ctx, show, options...)
	finished := make(chan error, 1)
	go func() { finished <- work(ctx, s) }() // joined by the receives below
	select {
	case err := <-finished:
		s.Close()
		return errors.Join(err, <-s.done)
	case err := <-s.done:
		cancel()
		s.running.Wait()
		return errors.Join(err, <-finished)
	}
}

// turn is a function for the screen's goroutine.
type turn func()

// model is a Show and the size of its terminal, for bubbletea.
type model struct {
	Show
	width, height int
}

// Init implements tea.Model.
func (m model) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case turn:
		msg()
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		m.Press(msg.String())
	}
	return m, nil
}

// View implements tea.Model.
func (m model) View() tea.View {
	v := tea.NewView(m.Page(m.width, m.height).Draw(m.width, m.height))
	v.AltScreen = true
	v.WindowTitle = m.Name
	return v
}
