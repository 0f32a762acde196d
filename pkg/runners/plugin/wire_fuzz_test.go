package plugin

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/primacy-dev/primacy/pkg/runners/child"
	"github.com/primacy-dev/primacy/pkg/runners/plugin/protocol"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// FuzzHandshake checks that, whatever a plugin prints first, copyLine passes on one line, whole and
// short enough, and reads no byte of what follows.
func FuzzHandshake(f *testing.F) {
	for _, seed := range []string{"1|1|unix|/tmp/x|grpc|cert\n", "no end", "", "\n", "1|1|unix\nand more\n", "\x00\xff\n"} {
		f.Add([]byte(seed))
	}
	f.Add(bytes.Repeat([]byte("x"), longestHandshake))
	f.Add(append(bytes.Repeat([]byte("x"), longestHandshake-1), '\n'))
	f.Fuzz(func(t *testing.T, data []byte) {
		var to bytes.Buffer
		from := bytes.NewReader(data)
		err := copyLine(&to, from)
		rest, readErr := io.ReadAll(from)
		if readErr != nil {
			t.Fatal(readErr)
		}
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 || end > longestHandshake {
			if err == nil || to.Len() > 0 {
				t.Fatalf("%q is a handshake", data)
			}
			return
		}
		if err != nil || !bytes.Equal(to.Bytes(), data[:end]) || !bytes.Equal(rest, data[end:]) {
			t.Fatalf("%q is handed on (%v), %q is left", to.Bytes(), err, rest)
		}
	})
}

// frames is a plugin's stream: events as on the wire, each after its length.
type frames struct {
	grpc.BidiStreamingClient[protocol.RunRequest, protocol.RunEvent]
	left []byte
}

func (s *frames) Recv() (*protocol.RunEvent, error) {
	if len(s.left) == 0 {
		return nil, io.EOF
	}
	n := min(int(s.left[0]), len(s.left)-1)
	frame := s.left[1 : n+1]
	s.left = s.left[n+1:]
	e := &protocol.RunEvent{}
	return e, proto.Unmarshal(frame, e)
}

func frame(events ...*protocol.RunEvent) []byte {
	var all []byte
	for _, e := range events {
		data, err := proto.Marshal(e)
		if err != nil || len(data) > 255 {
			panic("a seed is wrong")
		}
		all = append(append(all, byte(len(data))), data...)
	}
	return all
}

// FuzzEvents checks that, whatever a plugin sends, hear ends with an error that gives the reason.
func FuzzEvents(f *testing.F) {
	ended := &protocol.RunEvent{Event: &protocol.RunEvent_Ended{Ended: &protocol.Ended{Problem: "enough"}}}
	log := &protocol.RunEvent{Event: &protocol.RunEvent_Log{Log: &protocol.Log{Level: 17, Message: "\x1b[2J"}}}
	health := &protocol.RunEvent{Event: &protocol.RunEvent_Health{}}
	f.Add(frame(ended, log))
	f.Add(frame(log, health, &protocol.RunEvent{}, &protocol.RunEvent{Event: &protocol.RunEvent_Progress{}}, ended))
	f.Add(frame(&protocol.RunEvent{Event: &protocol.RunEvent_Ended{}}))
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0})
	f.Add([]byte{3, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		core, logs := observer.New(zap.DebugLevel)
		to := child.NewLimited(zap.New(core), child.NewBudget(child.Rate{Lines: 5, Bytes: 1000}, clock.Boottime()))
		x := &talk{plugin: "work"}
		err := x.hear(&frames{left: data}, to)
		to.Close()
		if err == nil {
			t.Fatal("the talk ends without a reason")
		}
		var said *WorkError
		if x.said != errors.As(err, &said) {
			t.Fatalf("the plugin said so: %v; the reason: %v", x.said, err)
		}
		if logs.Len() > 51 {
			t.Fatalf("%d lines are logged", logs.Len())
		}
	})
}
