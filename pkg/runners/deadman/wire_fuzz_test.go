//go:build linux

package deadman

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

// FuzzOrders checks that, whatever comes through the pipe, a supervisor reads only orders that we
// could have sent.
func FuzzOrders(f *testing.F) {
	for _, seed := range []string{"K 17\n", "T 0\n", "K -9223372036854775808\n", "K 9223372036854775808\n", "K\n", "X 1\n", "K 1", "KT 1\n", "K 1\nT 2\n", "\n", "K  1\n", "K +1\n", "\xff 1\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		from := bufio.NewReader(bytes.NewReader(data))
		for {
			o, err := readOrder(from)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				continue
			}
			if o.verb != extend && o.verb != stop {
				t.Fatalf("%q is read as the order %q", data, o.verb)
			}
			again, err := readOrder(bufio.NewReader(bytes.NewReader(o.line())))
			if err != nil || again != o {
				t.Fatalf("%+v is read as %+v, %v", o, again, err)
			}
			if len(o.line()) > 512 {
				t.Fatalf("%+v may be written in parts", o)
			}
		}
	})
}

func FuzzReports(f *testing.F) {
	for _, seed := range []string{"started 17 \n", "failed 2 \n", "refused 1 limit of open files\n", "exited x\n", "exited\n", "\n", "ended 0", "started 99999999999999999999\n", " 1\n", "a\x00 1 b\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		from := bufio.NewReader(bytes.NewReader(data))
		for {
			r, err := readReport(from)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				continue
			}
			var line strings.Builder
			r.tell(&line)
			again, err := readReport(bufio.NewReader(strings.NewReader(line.String())))
			if err != nil || again != r {
				t.Fatalf("%+v is read as %+v, %v", r, again, err)
			}
		}
	})
}

func FuzzJob(f *testing.F) {
	for _, seed := range []string{`{"Path":"L2Jpbi90cnVl","Args":["dHJ1ZQ==","/w=="],"Kill":5}`, `{"User":{"UID":1,"GID":2},"Limits":[{"Resource":"open files","Soft":1,"Hard":2}]}`, `{}`, `null`, `[]`, `{"Files":-1}`, `{"Kill":1e400}`, ``} {
		f.Add([]byte(seed + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := readJSON[job](bufio.NewReader(bytes.NewReader(data)))
		if err != nil {
			return
		}
		line, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		again, err := readJSON[job](bufio.NewReader(bytes.NewReader(append(line, '\n'))))
		if err != nil || !reflect.DeepEqual(j, again) {
			t.Fatalf("%+v is read as %+v, %v", j, again, err)
		}
	})
}

// FuzzAnswer checks that whatever a process that confines itself answers is read as an error or as
// the end.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{`{"What":"user","Errno":1}`, `{"Errno":2}`, `{}`, `null`, ``, `{"Errno":-1}`, `{"What":`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := answer(bytes.NewReader(data)); err == nil && len(bytes.TrimSpace(data)) > 0 {
			t.Fatalf("%q is taken for success", data)
		}
	})
}

func FuzzStat(f *testing.F) {
	for _, seed := range []string{stat("sh", "S", 17, 1), stat(") Z 1 2 (", "Z", 17, 4), "", ")", "17 (sh) S 1", "17 (a) Z 1 2 5 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		if s, err := parseStat(data); err != nil && s != (state{}) {
			t.Fatalf("%q: %+v beside the error %v", data, s, err)
		}
		if !bytes.Equal(before, data) {
			t.Fatal("it changed what it read")
		}
	})
}
