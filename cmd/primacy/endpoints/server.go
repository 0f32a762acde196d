package endpoints

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
)

// Bounds of what clients may use.
const (
	mostConnections = 3072 // and no more than leave files to work
	mostStreams     = 1536 // and at most half of the connections that there may be
	mostRequests    = 16   // at a time, of metrics and elections
	mostProfiles    = 1    // at a time; the runtime cannot take two
	mostHeader      = 16 << 10

	headerTime  = 5 * time.Second
	writeTime   = 30 * time.Second
	profileTime = 5 * time.Minute
	leaveTime   = time.Second
)

// Health says whether the member is alive, and ready.
type Health interface {
	Alive() []election.Condition
	Ready() []election.Condition
}

// Elections are those of a member.
type Elections interface {
	Identity() string
	Statuses() []*election.Status
	Watch(ctx context.Context) <-chan election.ElectionTransition
}

// Config is what a Server needs to know.
type Config struct {
	HTTP       config.HTTP
	Health     Health
	Elections  Elections
	Collectors []prometheus.Collector
	// Reviewer says who may read the guarded endpoints. Only a Server with config.AccessOpen on a loopback address needs none.
	Reviewer *Reviewer
	Log      *zap.Logger
}

// Server serves the endpoints of one member.
type Server struct {
	cfg         Config
	listener    *turnListener
	http        *http.Server
	certificate *certificate // nil without TLS
	hub         *hub
	turns       *turns
	requests    requests
	// alive ends when the last requests must. Run sets it before the first.
	alive context.Context
}

// Listen binds the address and reads the certificate. It serves nothing before Run, which must follow.
func Listen(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Reviewer == nil && (cfg.HTTP.Access != config.AccessOpen || !cfg.HTTP.Loopback()) {
		return nil, fmt.Errorf("endpoints at %s need a Reviewer (only access: open on a loopback address needs none)", cfg.HTTP.Address)
	}
	files := mayOpen()
	most := int(min(mostConnections, files/2)) // #nosec G115 -- a small number
	s := &Server{cfg: cfg, turns: connectionTurns()}
	if pair := cfg.HTTP.TLS; pair != (config.TLS{}) {
		var err error
		if s.certificate, err = newCertificate(pair, cfg.Log); err != nil {
			return nil, err
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.HTTP.Address)
	if err != nil {
		return nil, fmt.Errorf("endpoints: %w (http.address says where they are served)", err)
	}
	s.listener = listenInTurns(listener, s.turns, most)
	s.listener.files = files
	s.hub = newHub(s.listener.streams)
	registry := prometheus.NewRegistry()
	for _, c := range slices.Concat(cfg.Collectors, s.hub.collectors()) {
		if err := registry.Register(c); err != nil {
			return nil, errors.Join(fmt.Errorf("metrics: %w", err), listener.Close())
		}
	}
	s.http = &http.Server{
		Handler:           s.routes(registry),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       headerTime, // it ends what never comes to a handler; streams and waits are not read, so it does not end them

		DisableGeneralOptionsHandler: true, // it reads what clients send outside of our bounds
		MaxHeaderBytes:               mostHeader,
		Protocols:                    new(http.Protocols), // a connection has one request, so the bound on connections bounds all
		ConnContext:                  withConnection,
		ErrorLog:                     log.New(complaints{cfg.Log}, "", 0),
	}
	s.http.Protocols.SetHTTP1(true)
	s.http.SetKeepAlivesEnabled(false)
	if s.certificate != nil {
		s.http.TLSConfig = &tls.Config{GetCertificate: s.certificate.get, MinVersion: tls.VersionTLS12}
	}
	return s, nil
}

// mayOpen is how many files this process may open.
func mayOpen() uint64 {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return 2 * mostConnections
	}
	return files.Cur
}

// complaints logs the errors of package http. It logs failed handshakes at debug level, since anybody can cause them.
type complaints struct{ log *zap.Logger }

func (c complaints) Write(line []byte) (int, error) {
	level := zap.WarnLevel
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		level = zap.DebugLevel
	}
	c.log.Log(level, "endpoints: "+string(bytes.TrimSpace(line)))
	return len(line), nil
}

// URL is where the endpoints are served.
func (s *Server) URL() string {
	scheme := "http"
	if s.certificate != nil {
		scheme = "https"
	}
	return scheme + "://" + s.listener.Addr().String()
}

// Run serves until ctx ends, and returns once every request is over.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	alive, cut := context.WithCancel(context.WithoutCancel(ctx))
	s.alive, s.http.BaseContext = alive, func(net.Listener) context.Context { return alive }
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { s.hub.run(s.cfg.Elections.Identity, s.cfg.Elections.Watch(ctx)) })
	if s.certificate != nil {
		wg.Go(func() { s.certificate.follow(ctx) })
	}
	wg.Go(func() {
		<-ctx.Done()
		defer cut()
		// Streams end with the hub, which ends with ctx. Other requests get leaveTime.
		short, stop := context.WithTimeout(alive, leaveTime)
		defer stop()
		_ = s.http.Shutdown(short) // Close ends what is left
		_ = s.http.Close()
	})
	s.cfg.Log.Info("serving endpoints", zap.String("url", s.URL()), zap.String("access", string(s.cfg.HTTP.Access)))
	var err error
	if s.certificate != nil {
		err = s.http.ServeTLS(s.listener, "", "")
	} else {
		err = s.http.Serve(s.listener)
	}
	cancel()
	wg.Wait()
	s.requests.end()
	if s.cfg.Reviewer != nil {
		s.cfg.Reviewer.under.end()
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("endpoints: %w", err)
	}
	return nil
}

// routes has all endpoints.
func (s *Server) routes(metrics prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /livez", s.turns.inTurns(report("livez", s.cfg.Health.Alive)))
	mux.Handle("GET /readyz", s.turns.inTurns(report("readyz", s.cfg.Health.Ready)))
	guarded := func(pattern string, h http.Handler) { mux.Handle(pattern, s.guard(h)) }
	several, one, answers := atMost(mostRequests), atMost(mostProfiles), answerTurns()
	few := func(h http.Handler) http.Handler { return several(answers.inTurns(h)) }
	profiles := func(h http.HandlerFunc) http.Handler { return one(lasting(h)) }
	guarded("GET /metrics", few(promhttp.HandlerFor(metrics, promhttp.HandlerOpts{})))
	guarded("GET /api/v1/elections", few(http.HandlerFunc(s.elections)))
	guarded("GET /api/v1/events", http.HandlerFunc(s.events))
	guarded("GET /debug/pprof/", profiles(pprof.Index))
	guarded("GET /debug/pprof/cmdline", profiles(pprof.Cmdline))
	guarded("GET /debug/pprof/profile", profiles(pprof.Profile))
	guarded("GET /debug/pprof/symbol", profiles(pprof.Symbol))
	guarded("GET /debug/pprof/trace", profiles(followed(pprof.Trace)))
	return s.bounded(mux)
}

// bounded bounds how long a request may take, and joins it.
func (s *Server) bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := connectionOf(r.Context()); c != nil {
			c.serve()
		}
		if !s.requests.begin() {
			http.Error(w, "this member stops", http.StatusServiceUnavailable)
			return
		}
		defer s.requests.over()
		control, now := http.NewResponseController(w), time.Now()
		_ = control.SetWriteDeadline(now.Add(writeTime)) // it fails only if there is no connection any more
		if r.ContentLength != 0 {
			_ = control.SetReadDeadline(now) // package http would read on, for up to 256 KiB
			http.Error(w, "send no body", http.StatusBadRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// lasting gives a handler the time that a profile may take, whatever the client asks for, and then that of any answer.
func lasting(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(profileTime + writeTime))
		ctx, cancel := context.WithTimeout(r.Context(), profileTime)
		defer cancel()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// followed ends a trace whose client does not follow: the runtime keeps in memory what nobody takes.
func followed(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		h(&follower{w, http.NewResponseController(w), cancel}, r.WithContext(ctx))
	}
}

// follower writes, and ends the request if the client takes too long to accept it.
type follower struct {
	http.ResponseWriter
	control *http.ResponseController
	end     func()
}

func (f *follower) Write(p []byte) (int, error) {
	_ = f.control.SetWriteDeadline(time.Now().Add(streamTime)) // it fails only if there is no connection any more
	n, err := f.ResponseWriter.Write(p)
	if err != nil {
		f.end()
	}
	return n, err
}

// atMost lets n requests at a time through to the handlers that it wraps, at most half of them of one client, and turns others away.
func atMost(n int) func(http.Handler) http.Handler {
	s := slots{most: n, of: map[*client]int{}}
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, its := connectionOf(r.Context()), (*client)(nil)
			if c != nil {
				its = c.client
			}
			if !s.take(its) {
				turnAway(w, "too many requests at a time; try again")
				return
			}
			defer s.leave(its)
			c.stays()
			h.ServeHTTP(w, r)
		})
	}
}

// slots are places for requests.
type slots struct {
	most int

	mu    sync.Mutex
	taken int
	of    map[*client]int
}

func (s *slots) take(c *client) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken >= s.most || s.of[c] >= max(1, s.most/2) {
		return false
	}
	s.taken++
	s.of[c]++
	return true
}

func (s *slots) leave(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.of[c]--; s.of[c] == 0 {
		delete(s.of, c)
	}
}

func turnAway(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}

// requests joins the goroutines of requests, which http.Server.Close does not.
type requests struct {
	mu     sync.Mutex
	ending bool
	wg     sync.WaitGroup
}

func (r *requests) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ending {
		r.wg.Add(1)
	}
	return !r.ending
}

func (r *requests) over() { r.wg.Done() }

// end lets no request begin any more, and waits for those that have.
func (r *requests) end() {
	r.mu.Lock()
	r.ending = true
	r.mu.Unlock()
	r.wg.Wait()
}
