package endpoints

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

const (
	// gatherTime is how long transitions wait for others, to be sent with them. gatherEach is how much longer they wait
	// for each open stream: a thousand streams with ten writes a second each would slow the elections down.
	gatherTime, gatherEach = 100 * time.Millisecond, 400 * time.Microsecond
	// mostBatch is the size, in bytes, from which on a batch goes out at once.
	mostBatch = 64 << 10
	// streamBuffer is how many batches a stream may lag before it is cut off.
	streamBuffer = 64
	// keepAlive is the time between two signs of life on a quiet stream.
	keepAlive = 15 * time.Second
	// wokenAtOnce is how many streams get a batch at once, and wakeTime the time until the next ones do.
	wokenAtOnce, wakeTime = 32, time.Millisecond
	// streamTime is how long a client may take to accept one write.
	streamTime = 10 * time.Second
)

// hub passes transitions on to any number of streams. It waits for none of them.
type hub struct {
	mu      sync.Mutex
	streams map[*stream]struct{}
	most    func() int // streams at a time
	closed  bool
	// cut counts the streams that were cut off because they lagged.
	cut atomic.Uint64
}

// stream is one client of /api/v1/events. Its channel is closed when the stream is cut off, and when the member stops.
type stream struct{ batches chan *batch }

func newHub(most func() int) *hub { return &hub{streams: map[*stream]struct{}{}, most: most} }

// run passes transitions on until their channel is closed; then it ends all streams. It gathers the transitions of a short
// time, and sends them together. So a burst of moves costs one write for each stream, not one for each transition, and most
// of these writes come after the moves.
func (h *hub) run(member func() string, transitions <-chan election.ElectionTransition) {
	var last uint64
	var gathered []byte
	due := clock.NewTimer(gatherTime)
	defer due.Stop()
	flush := func() {
		if len(gathered) > 0 {
			h.send(gathered)
			gathered = nil // the streams share what was sent
		}
	}
	for open := true; open; {
		var t election.ElectionTransition
		select {
		case t, open = <-transitions:
		case <-due.C:
			flush()
			continue
		}
		streams := h.open()
		if !open || streams == 0 {
			if last = t.Number; open {
				gathered = nil // nobody is left to read it, and whoever joins later must see no gap after it
			}
			continue
		}
		if len(gathered) == 0 {
			due.Reset(gatherTime + time.Duration(streams)*gatherEach)
		}
		if missing := t.Number - last - 1; last != 0 && missing > 0 {
			gathered = append(gathered, frame("lost", t.Number-1, struct {
				Lost uint64 `json:"lost"`
			}{missing})...)
		}
		last = t.Number
		if gathered = append(gathered, frame("transition", t.Number, transitionOf(member(), t))...); len(gathered) >= mostBatch {
			flush()
		}
	}
	flush()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.streams {
		h.endLocked(s)
	}
}

// frame is an event in the form of SSE.
func frame(event string, id uint64, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("endpoints: encode an event: %v", err))
	}
	return fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", id, event, text)
}

// send sends to each stream, and cuts those off that have no room for more. It wakes few streams at a time: a
// thousand at once would keep the elections waiting for a processor.
func (h *hub) send(text []byte) {
	one := &batch{plain: text}
	h.mu.Lock()
	all := slices.Collect(maps.Keys(h.streams))
	h.mu.Unlock()
	first := true
	for some := range slices.Chunk(all, wokenAtOnce) {
		if !first {
			clock.Wait(context.Background(), wakeTime)
		}
		first = false
		h.wake(some, one)
	}
}

func (h *hub) wake(some []*stream, one *batch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range some {
		if _, open := h.streams[s]; !open {
			continue
		}
		select {
		case s.batches <- one:
		default:
			h.cut.Add(1)
			h.endLocked(s)
		}
	}
}

func (h *hub) endLocked(s *stream) {
	if _, open := h.streams[s]; open {
		delete(h.streams, s)
		close(s.batches)
	}
}

// join opens a stream; nil if there are too many, or the member stops.
func (h *hub) join() *stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.streams) >= h.most() {
		return nil
	}
	s := &stream{make(chan *batch, streamBuffer)}
	h.streams[s] = struct{}{}
	return s
}

func (h *hub) leave(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endLocked(s)
}

func (h *hub) open() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.streams)
}

// Metrics returns the metrics that a Server adds to Config.Collectors. Nothing feeds these ones: they are for documents that list names.
func Metrics() []prometheus.Collector { return newHub(nil).collectors() }

// collectors are the metrics of the streams.
func (h *hub) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "primacy_http_event_streams", Help: "Clients that read /api/v1/events now.",
		}, func() float64 { return float64(h.open()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "primacy_http_event_streams_cut_total", Help: "Clients of /api/v1/events that were cut off because they lagged.",
		}, func() float64 { return float64(h.cut.Load()) }),
	}
}

// greeting begins each stream, and sign is a sign of life on a quiet one.
var greeting, sign = &batch{plain: []byte("retry: 3000\n\n")}, &batch{plain: []byte(":\n\n")}

// events streams the transitions of all elections from now on.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return
	}
	one := s.hub.join()
	if one == nil {
		turnAway(w, "too many streams; try again")
		return
	}
	defer s.hub.leave(one)
	connectionOf(r.Context()).stays()
	to, control := senderTo(w, r), http.NewResponseController(w)
	write := func(some func() error) bool {
		return control.SetWriteDeadline(time.Now().Add(streamTime)) == nil && some() == nil && control.Flush() == nil
	}
	quiet := clock.NewTimer(keepAlive)
	defer quiet.Stop()
	next, open := greeting, true
	for open {
		if !write(func() error { return to.send(next) }) {
			return
		}
		quiet.Reset(keepAlive)
		select {
		case next, open = <-one.batches:
		case <-quiet.C:
			next = sign
		case <-r.Context().Done():
			return
		}
	}
	write(to.end)
}
