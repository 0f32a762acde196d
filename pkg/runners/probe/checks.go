//go:build linux

package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// fileCheck looks whether something exists.
func fileCheck(s Spec, dir string) check {
	path := s.File
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return func(context.Context) error {
		began := time.Now()
		_, err := os.Stat(path)
		switch {
		case err == nil && time.Since(began) > s.Timeout: // its file system hung
			return fmt.Errorf("%s: no answer within %v", path, s.Timeout)
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s is not there", path)
		}
		return err
	}
}

// httpCheck asks a server.
func httpCheck(s Spec) check {
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: mostHeader}, // and no proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	shown, _, _ := strings.Cut(s.HTTP, "?") // what follows may be a secret
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, s.Timeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.HTTP, nil)
		if err != nil {
			return err
		}
		request.Header.Set("User-Agent", "primacy")
		answer, err := client.Do(request)
		if ctx.Err() != nil {
			return fmt.Errorf("%s: no answer within %v", shown, s.Timeout)
		}
		if failed, is := errors.AsType[*url.Error](err); is {
			err = failed.Err
		}
		if err != nil {
			return fmt.Errorf("%s: %w", shown, err)
		}
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode/100 == 2 {
			return nil
		}
		said, _ := io.ReadAll(io.LimitReader(answer.Body, mostSaid))
		return failed(fmt.Sprintf("%s answered %s", shown, answer.Status), said)
	}
}

const mostHeader = 64 << 10
