package endpoints

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// batch is what many streams are sent. It is compressed once for all of those that want that: a thousand streams with
// each transition in plain text would keep the processors busy with copying.
type batch struct {
	plain    []byte
	once     sync.Once
	deflated []byte
}

// deflaters are of type *flate.Writer.
var deflaters = sync.Pool{New: func() any {
	z, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(fmt.Sprintf("endpoints: make a compressor: %v", err))
	}
	return z
}}

// compressed is the batch as blocks of DEFLATE (RFC 1951). They refer to nothing before them and end at a whole byte, so
// that they can follow any others.
func (b *batch) compressed() []byte {
	b.once.Do(func() {
		var to bytes.Buffer
		z := deflaters.Get().(*flate.Writer)
		defer deflaters.Put(z)
		z.Reset(&to)
		_, _ = z.Write(b.plain) // a buffer takes all
		_ = z.Flush()
		b.deflated = to.Bytes()
	})
	return b.deflated
}

// sender writes batches to one stream.
type sender interface {
	send(b *batch) error
	// end ends a stream whose client still reads.
	end() error
}

// senderTo writes gzip if the client takes it.
func senderTo(w http.ResponseWriter, r *http.Request) sender {
	w.Header().Set("Vary", "Accept-Encoding")
	if !takesGzip(r.Header) {
		return plainly{w}
	}
	w.Header().Set("Content-Encoding", "gzip")
	return &gzipped{w: w}
}

func takesGzip(h http.Header) bool {
	for one := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, weight, weighted := strings.Cut(one, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		_, weight, _ = strings.Cut(weight, "=")
		q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		return !weighted || err == nil && q > 0
	}
	return false
}

type plainly struct{ w io.Writer }

func (p plainly) send(b *batch) error {
	_, err := p.w.Write(b.plain)
	return err
}

func (plainly) end() error { return nil }

// gzipped writes one file of gzip (RFC 1952), whose middle all streams share.
type gzipped struct {
	w         io.Writer
	begun     bool
	sum, size uint32
}

func (z *gzipped) send(b *batch) error {
	if !z.begun {
		z.begun = true
		// Of an unknown system, without a name or a time.
		if _, err := z.w.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}); err != nil {
			return err
		}
	}
	z.sum = crc32.Update(z.sum, crc32.IEEETable, b.plain)
	z.size += uint32(len(b.plain)) // #nosec G115 -- modulo 2^32, as gzip wants it
	_, err := z.w.Write(b.compressed())
	return err
}

func (z *gzipped) end() error {
	last := []byte{3, 0} // an empty block that is the last one
	last = binary.LittleEndian.AppendUint32(last, z.sum)
	last = binary.LittleEndian.AppendUint32(last, z.size)
	_, err := z.w.Write(last)
	return err
}
