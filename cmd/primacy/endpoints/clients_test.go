package endpoints

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// load is what clients do to the endpoints of one member.
type load struct {
	URL                                  string
	Streams, Slow, Huge, Halves, Scrapes int
	// Hasty connections, which are not measured, send many requests at once and again, without waiting for answers, until all scrapes are done.
	Hasty int
	// Rounds is how often all elections move, there and back, in each part.
	Rounds int
	// Pause is how long each of the eight that scrape waits between two scrapes.
	Pause time.Duration
	// Rest is the time between two moves. Without it the moves themselves would keep all processors busy.
	Rest time.Duration
	// Yields says that the clients have the lowest priority, so that figures are of the members and not of them. Beside other
	// tests such clients would send nothing for as long as a server waits for a request.
	Yields bool
}

const clientsVariable = "PRIMACY_ENDPOINTS_CLIENTS"

// clients is the process that does a load. It opens its streams at once, begins the rest when it is told to go, and
// leaves when it is told to.
type clients struct {
	to    io.WriteCloser
	lines *bufio.Scanner
}

// begin starts the clients. They end with their streams, or with the test.
func begin(t *testing.T, do load) *clients {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(do)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	process := exec.CommandContext(ctx, self)
	process.Env = append(os.Environ(), clientsVariable+"="+string(text))
	process.Stderr = os.Stderr
	c := &clients{}
	if c.to, err = process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	from, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(from)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = process.Wait() // it says on standard output what went wrong
	})
	return c
}

func (c *clients) says(t *testing.T, what string) {
	t.Helper()
	if _, err := fmt.Fprintln(c.to, what); err != nil {
		t.Fatal(err)
	}
}

// hears waits for a line that begins so, and returns the rest of it. Any other line says what went wrong.
func (c *clients) hears(t *testing.T, beginning string) string {
	t.Helper()
	rest, said := c.hear(t, beginning)
	if !said {
		t.Fatalf("clients: they ended before they said %q", beginning)
	}
	return rest
}

// hear is hears for any goroutine: it says whether there was such a line.
func (c *clients) hear(t *testing.T, beginning string) (rest string, said bool) {
	for c.lines.Scan() {
		if rest, said = strings.CutPrefix(c.lines.Text(), beginning); said {
			return rest, true
		}
		t.Error("clients: ", c.lines.Text())
	}
	return "", false
}

// asClients does what the variable says, as a process of its own.
func asClients(text string) {
	var do load
	if err := json.Unmarshal([]byte(text), &do); err != nil {
		fmt.Println(err)
		return
	}
	if do.Yields {
		if err := yield(); err != nil {
			fmt.Println(err)
		}
	}
	do.run(os.Stdin, os.Stdout)
}

// yield gives this process the lowest priority. The kernel keeps it for each thread, which threads that it starts inherit; a second
// look finds those that began during the first. (With SCHED_IDLE the clients of a busy machine never get to do their load.)
func yield() error {
	for range 2 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, one := range threads {
			id, err := strconv.Atoi(one.Name())
			if err != nil {
				return err
			}
			if err := syscall.Setpriority(syscall.PRIO_PROCESS, id, 19); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("give way to others: %w", err)
			}
		}
	}
	return nil
}

// run prints one line for each thing that goes wrong, and one for each part that is done.
func (do load) run(commands io.Reader, out io.Writer) {
	say := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) } // a write to a pipe is one piece
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	defer client.CloseIdleConnections()
	at, err := url.Parse(do.URL)
	if err != nil {
		say("%v", err)
		return
	}
	var streams sync.WaitGroup
	var shown, missing atomic.Int64
	for range do.Streams {
		streams.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, do.URL+"/api/v1/events", nil)
			if err != nil {
				say("%v", err)
				return
			}
			answer, err := client.Do(request)
			if err != nil {
				say("%v", err)
				return
			}
			defer func() { _ = answer.Body.Close() }()
			n, gaps := follow(answer.Body)
			shown.Add(int64(n))
			missing.Add(int64(gaps))
		})
	}
	var quiet []net.Conn
	dial := func(first string) {
		c, err := net.Dial("tcp", at.Host)
		if err != nil {
			say("%v", err)
			return
		}
		quiet = append(quiet, c)
		if _, err := io.WriteString(c, first); err != nil {
			say("%v", err)
		}
	}
	for range do.Slow {
		dial("GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	}
	for range do.Halves {
		dial("GET /metrics HTTP/1.1\r\nHo")
	}
	defer func() {
		for _, c := range quiet {
			_ = c.Close()
		}
	}()
	next := bufio.NewReader(commands)
	if _, err := next.ReadString('\n'); err != nil {
		say("%v", err)
		return
	}
	var all sync.WaitGroup
	all.Go(func() {
		if refused := do.hugeHeaders(at.Host, say); refused == do.Huge/4*4 {
			say("huge headers are refused")
		} else {
			say("%d of %d huge headers were refused", refused, do.Huge)
		}
	})
	scraped, done := context.WithCancel(ctx)
	all.Go(func() {
		defer done()
		do.scrape(client, say)
	})
	for range do.Hasty {
		all.Go(func() {
			for scraped.Err() == nil {
				if err := hurry(at.Host); err != nil {
					say("%v", err)
					return
				}
			}
		})
	}
	all.Wait()
	if _, err := next.ReadString('\n'); err != nil {
		say("%v", err)
		return
	}
	leave()
	streams.Wait()
	say("streams show %d transitions, and lack %d", shown.Load(), missing.Load())
}

// hurry sends 20 requests at once to what needs no right, and fails unless only the first of them is answered.
func hurry(host string) error {
	c, err := net.Dial("tcp", host)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, strings.Repeat("GET /readyz?verbose HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 20)); err != nil {
		return nil // it was turned away
	}
	answers, err := io.ReadAll(c)
	if n := strings.Count(string(answers), "HTTP/1.1 "); n > 1 { // none if it has waited for too long, or was reset
		return fmt.Errorf("%d answers to one connection (%v)", n, err)
	}
	return nil
}

// hugeHeaders counts the requests with huge headers that were refused.
func (do load) hugeHeaders(host string, say func(string, ...any)) int {
	header := "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"
	var refused atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range do.Huge / 4 {
				c, err := net.Dial("tcp", host)
				if err != nil {
					say("%v", err)
					return
				}
				wrote := make(chan struct{})
				go func() { // joined below
					defer close(wrote)
					_, _ = io.WriteString(c, header)
				}()
				answer, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil || answer.StatusCode == http.StatusRequestHeaderFieldsTooLarge {
					refused.Add(1)
				}
				_ = c.Close()
				<-wrote
			}
		})
	}
	all.Wait()
	return int(refused.Load())
}

func (do load) scrape(client *http.Client, say func(string, ...any)) {
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	began := time.Now()
	for range 8 {
		all.Go(func() {
			for n := range do.Scrapes / 8 {
				at, path := time.Now(), []string{"/metrics", "/metrics", "/api/v1/elections", "/readyz?verbose"}[n%4]
				answer, err := client.Get(do.URL + path)
				if err != nil {
					say("%v", err)
					return
				}
				_, err = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				if err != nil || answer.StatusCode != http.StatusOK {
					say("%s: %s, %v", path, answer.Status, err)
				}
				mu.Lock()
				took = append(took, time.Since(at))
				mu.Unlock()
				if do.Pause > 0 {
					clock.Wait(context.Background(), do.Pause)
				}
			}
		})
	}
	all.Wait()
	lasted := time.Since(began)
	say("scraped %d times in %v: p50 %v p99 %v max %v", len(took), lasted.Round(time.Millisecond), percentile(took, 50), percentile(took, 99), percentile(took, 100))
}

// follow reads a stream until it ends, which may be amid a line. It returns how many transitions it showed, and how many
// are missing.
func follow(body io.Reader) (shown, missing int) {
	last, lines := 0, bufio.NewReader(body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return shown, missing
		}
		text, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "id: ")
		if !is {
			continue
		}
		id, _ := strconv.Atoi(text)
		if last != 0 {
			missing += id - last - 1
		}
		last = id
		shown++
	}
}

func TestFollowToAnEndAmidALine(t *testing.T) {
	if shown, missing := follow(strings.NewReader("id: 101\ndata: {}\n\nid: 103\ndata: {}\n\nid: 1")); shown != 2 || missing != 1 {
		t.Errorf("it shows %d transitions and lacks %d; want 2 and 1", shown, missing)
	}
}
