package sdk

import (
	"strings"
	"sync"

	"github.com/primacy-dev/primacy/pkg/runners/plugin/protocol"
)

// Level is the severity of a line of the log.
type Level int

// Levels of the log.
const (
	Debug Level = iota + 1
	Info
	Warn
	Error
)

var levels = map[Level]protocol.Log_Level{
	Debug: protocol.Log_DEBUG, Info: protocol.Log_INFO, Warn: protocol.Log_WARN, Error: protocol.Log_ERROR,
}

// Host is the program that runs the plugin, during one term. Any goroutine may call its methods until
// Run returns. When the host is gone they do nothing.
type Host struct {
	config []byte

	mu     sync.Mutex
	stream protocol.Runner_RunServer
}

// Config returns the configuration's block as YAML; empty if there is none.
func (h *Host) Config() []byte { return h.config }

// Log puts a line into the host's log.
func (h *Host) Log(level Level, message string) {
	h.tell(&protocol.RunEvent{Event: &protocol.RunEvent_Log{Log: &protocol.Log{Level: levels[level], Message: words(message)}}})
}

// Progress reports what the work is doing.
func (h *Host) Progress(text string) {
	h.tell(&protocol.RunEvent{Event: &protocol.RunEvent_Progress{Progress: &protocol.Progress{Text: words(text)}}})
}

// Health reports that the work is well (nil), or what is wrong though it goes on.
func (h *Host) Health(problem error) {
	h.tell(&protocol.RunEvent{Event: &protocol.RunEvent_Health{Health: &protocol.Health{Problem: text(problem)}}})
}

func (h *Host) ended(problem error) {
	h.tell(&protocol.RunEvent{Event: &protocol.RunEvent_Ended{Ended: &protocol.Ended{Problem: text(problem)}}})
}

func (h *Host) tell(e *protocol.RunEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.stream.Send(e) // without a host this process ends soon, too
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return words(err.Error())
}

// longest is how much of a text the host keeps, in bytes.
const longest = 64 << 10

// words replaces what is not UTF-8 in s. A message with such bytes would be lost, and the host would
// wait for the end of work that has ended.
func words(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), longest)], "\uFFFD")
}
