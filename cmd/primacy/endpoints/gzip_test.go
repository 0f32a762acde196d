package endpoints

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestStreamsInGzip checks that clients that take gzip read what the others read, each batch as soon as it is sent, and that the
// streams end as a file of gzip ends. One of them begins later.
func TestStreamsInGzip(t *testing.T) {
	s := &Server{hub: newHub(many)}
	site := httptest.NewServer(http.HandlerFunc(s.events))
	defer site.Close()
	open := func(takes string) *bufio.Reader {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", takes)
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		var body io.Reader = answer.Body
		if encoding := answer.Header.Get("Content-Encoding"); takes != "identity" {
			if encoding != "gzip" {
				t.Fatalf("encoding %q", encoding)
			}
			if body, err = gzip.NewReader(body); err != nil {
				t.Fatal(err)
			}
		}
		return bufio.NewReader(body)
	}
	wants := func(r *bufio.Reader, text string) {
		t.Helper()
		got := make([]byte, len(text))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != text {
			t.Fatalf("%.60q, %v; want %.60q", got, err, text)
		}
	}
	const begins = "retry: 3000\n\n"
	plain, early := open("identity"), open("br, gzip;q=0.8")
	wants(plain, begins)
	wants(early, begins)
	var late *bufio.Reader
	for n := range 5 {
		if n == 2 {
			late = open("gzip")
			wants(late, begins)
		}
		text := strings.Repeat(fmt.Sprintf("data: batch %d, which repeats itself\n\n", n), 1+n*2000)
		s.hub.send([]byte(text))
		wants(plain, text)
		wants(early, text)
		if late != nil {
			wants(late, text)
		}
	}
	s.hub.mu.Lock()
	for one := range s.hub.streams {
		s.hub.endLocked(one)
	}
	s.hub.mu.Unlock()
	for _, r := range []*bufio.Reader{plain, early, late} {
		if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
			t.Errorf("at the end: %q, %v", rest, err)
		}
	}
}

// TestABatchIsCompressedOnce checks that streams share what was compressed.
func TestABatchIsCompressedOnce(t *testing.T) {
	one := &batch{plain: []byte("data: 1\n\n")}
	var joined sync.WaitGroup
	var all [8][]byte
	for i := range all {
		joined.Go(func() { all[i] = one.compressed() })
	}
	joined.Wait()
	for _, other := range all[1:] {
		if &other[0] != &all[0][0] {
			t.Error("compressed more than once")
		}
	}
}

func TestTakesGzip(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "deflate, gzip;q=1.0": true, "br, gzip ; q=0.001": true, "gzip;q=0": false,
		"gzip; q=0.000": false, "gzip;q=x": false, "identity": false, "xgzip": false,
	} {
		if got := takesGzip(http.Header{"Accept-Encoding": {header}}); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
}
