package codec_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// typical is the lock of the i-th of many elections, led by one of eight members.
func typical(i int) codec.Object {
	r := heldLock()
	r.Election = fmt.Sprintf("election-%d", i)
	r.Holder = fmt.Sprintf("edge-%d_0a1b2c3d", i%8)
	r.Mark.Identity, r.Mark.Session = r.Holder, fmt.Sprintf("primacy-edge-edge-%d-0", i%8)
	r.History = nil
	for n := range record.HistoryLength {
		r.History = append(r.History, record.Entry{When: moment, Who: fmt.Sprintf("edge-%d_0a1b2c3d", n), Why: "handed over to a better member"})
	}
	o, err := codec.Encode(r, moment)
	if err != nil {
		panic(err)
	}
	return o
}

// TestRecordIsSmall checks that a decoded record is small: the memory budget of an election is 4 KB in total.
func TestRecordIsSmall(t *testing.T) {
	const n, most = 2000, 1000
	objects := make([]codec.Object, n)
	for i := range objects {
		objects[i] = typical(i)
	}
	var d codec.Decoder
	records := make([]*record.Record, n)
	before := heap()
	for i, o := range objects {
		records[i] = d.Decode(o)
	}
	per := (heap() - before) / n
	runtime.KeepAlive(records)
	runtime.KeepAlive(objects)
	t.Logf("%d bytes a record", per)
	if per > most {
		t.Errorf("a record takes %d bytes, want at most %d", per, most)
	}
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func BenchmarkDecode(b *testing.B) {
	o := typical(1)
	var d codec.Decoder
	b.ReportAllocs()
	for b.Loop() {
		d.Decode(o)
	}
}

func BenchmarkEncode(b *testing.B) {
	r := heldLock()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := codec.Encode(r, moment); err != nil {
			b.Fatal(err)
		}
	}
}
