package endpoints

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/config"
)

// TestWhatAConnectionMayCost checks that a connection is closed that sends too much before a handler has its request, or has us write too
// often, as with new keys in TLS 1.3; and that a handler may write as much as it likes.
func TestWhatAConnectionMayCost(t *testing.T) {
	send := func(p pair, bytes int) { go func() { _, _ = p.peer.Write(make([]byte, bytes)) }() } // ends with the connection
	read := func(p pair, bytes int) (err error) {
		for n, got := 0, 0; n < bytes && err == nil; n += got {
			got, err = p.Read(make([]byte, bytes-n))
		}
		return err
	}
	write := func(p pair, times int) (err error) {
		go func() { _, _ = io.Copy(io.Discard, p.peer) }() // ends with the connection
		for range times {
			_, failed := p.Write([]byte("x"))
			err = errors.Join(err, failed)
		}
		return err
	}
	for name, tt := range map[string]struct {
		does func(p pair) error
		may  bool
	}{
		"it sends a long head":                 {func(p pair) error { send(p, mostEarly); return read(p, mostEarly) }, true},
		"it sends more":                        {func(p pair) error { send(p, mostEarly+1); return read(p, mostEarly+1) }, false},
		"it is answered, and sends a head":     {func(p pair) error { send(p, 2*mostEarly); return errors.Join(write(p, 1), read(p, 2*mostEarly)) }, true},
		"it is answered, and sends more":       {func(p pair) error { send(p, 2*mostEarly+1); return errors.Join(write(p, 1), read(p, 2*mostEarly+1)) }, false},
		"it has us write in a handshake":       {func(p pair) error { return write(p, mostWrites) }, true},
		"it has us write on and on":            {func(p pair) error { return write(p, mostWrites+1) }, false},
		"it has us write on and on, is served": {func(p pair) error { p.serve(); return write(p, 10*mostWrites) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := dialled(t, connectionTurns())
			defer func() { _ = p.Close() }()
			if err := tt.does(p); (err == nil) != tt.may || err != nil && !errors.Is(err, net.ErrClosed) {
				t.Errorf("%v", err)
			}
			if closed := p.open.Err() != nil; closed == tt.may {
				t.Errorf("closed: %v", closed)
			}
		})
	}
}

// from dials from an address of this machine.
func from(t *testing.T, address string, s *Server) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// asks asks for a path, and returns the first line of the answer; empty if the connection was closed.
func asks(c net.Conn, path string) string {
	_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	line, _ := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line)
}

// TestTooManyConnections checks that an address which takes all places gives way to others, with its oldest connections first, and that
// those stay whose request a handler has.
func TestTooManyConnections(t *testing.T) {
	s := serve(t, Config{HTTP: config.HTTP{Address: "127.0.0.1:0", Access: config.AccessOpen}, Log: zap.NewNop(), Elections: nobody{}, Health: counted{new(atomic.Int64)}})
	s.listener.mu.Lock()
	s.listener.most = 100
	s.listener.mu.Unlock()
	stream := from(t, "127.0.0.1", s)
	if got := asks(stream, "/api/v1/events"); got != "HTTP/1.1 200 OK" {
		t.Fatal(got)
	}
	var idle []net.Conn
	for range 99 {
		idle = append(idle, from(t, "127.0.0.1", s))
	}
	for i := range 20 {
		if got := asks(from(t, "127.0.0.2", s), "/livez"); got != "HTTP/1.1 200 OK" {
			t.Fatalf("another address gets %q", got)
		}
		if i == 1 { // in good time: a connection has 5 s for its request
			if got := asks(idle[98], "/livez"); got != "HTTP/1.1 200 OK" {
				t.Errorf("the newest one gets %q", got)
			}
		}
	}
	if _, err := idle[0].Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the oldest connection: %v", err)
	}
	if s.hub.open() != 1 {
		t.Error("the stream was cut")
	}
}

// TestKnownClients checks that a client that was served finds its place again, although it comes seldom, and that so do few.
func TestKnownClients(t *testing.T) {
	l := listenInTurns(nil, connectionTurns(), 20)
	leaves := func(c *turnConn) { c.end(); c.left() }
	comes := func(last byte) *turnConn {
		c, evicted := l.add(addressed{from: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, last}), 1)})
		for _, old := range evicted {
			if old == c {
				t.Errorf("%d is closed at once", last)
			}
			leaves(old)
		}
		return c
	}
	probe := comes(1)
	place := probe.client.turn
	probe.serve()
	leaves(probe)
	for i := range byte(30) { // many come, and are not served
		comes(100 + i)
	}
	if again := comes(1); again.client.turn != place {
		t.Errorf("its place was %d and is %d", place, again.client.turn)
	} else {
		for i := range byte(30) {
			comes(150 + i)
		}
		if again.open.Err() != nil {
			t.Error("it had to go, for others that came later")
		}
		leaves(again)
	}
	for i := range byte(mostKnown) {
		c := comes(50 + i)
		c.serve()
		leaves(c)
	}
	if c := comes(1); c.client.turn == place || len(l.known) != mostKnown {
		t.Errorf("%d are known", len(l.known))
	}
}

// addressed is a connection of which only the address is asked for.
type addressed struct {
	net.Conn
	from netip.AddrPort
}

func (a addressed) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(a.from) }

// TestAddresses checks that the addresses of one IPv6 network are one client, and that IPv4 has one form.
func TestAddresses(t *testing.T) {
	of := func(s string) netip.Prefix { return addressOf(addressed{from: netip.MustParseAddrPort(s)}) }
	if of("[2001:db8::1]:1") != of("[2001:db8::2]:2") || of("[2001:db8::1]:1") == of("[2001:db8:0:1::1]:1") {
		t.Error("not by networks of 64 bits")
	}
	if of("10.0.0.1:1") != of("[::ffff:10.0.0.1]:2") || of("10.0.0.1:1") == of("10.0.0.2:1") {
		t.Error("not by addresses of IPv4")
	}
}

// keyed writes records of TLS 1.3 by hand, since package tls asks nobody for new keys.
type keyed struct {
	net.Conn
	secret []byte
	seal   cipher.AEAD
	iv     []byte
	number uint64
}

// shakesHands returns a connection after its handshake.
func shakesHands(t *testing.T, s *Server) *keyed {
	t.Helper()
	var secrets bytes.Buffer
	c := from(t, "127.0.0.1", s)
	shaken := tls.Client(c, &tls.Config{InsecureSkipVerify: true, KeyLogWriter: &secrets, MinVersion: tls.VersionTLS13}) // #nosec G402 -- it is the server that is tested
	if err := shaken.Handshake(); err != nil {
		t.Fatal(err)
	}
	if suite := shaken.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skipf("this machine prefers %s, which this test does not write", tls.CipherSuiteName(suite))
	}
	for line := range strings.Lines(secrets.String()) {
		if f := strings.Fields(line); f[0] == "CLIENT_TRAFFIC_SECRET_0" {
			secret, err := hex.DecodeString(f[2])
			if err != nil {
				t.Fatal(err)
			}
			k := &keyed{Conn: c}
			k.takes(t, secret)
			return k
		}
	}
	t.Fatal("there is no secret")
	return nil
}

// takes derives the keys of a secret (RFC 8446, 7.3).
func (k *keyed) takes(t *testing.T, secret []byte) {
	t.Helper()
	block, err := aes.NewCipher(expand(t, secret, "key", 16))
	if err != nil {
		t.Fatal(err)
	}
	if k.seal, err = cipher.NewGCM(block); err != nil {
		t.Fatal(err)
	}
	k.secret, k.iv, k.number = secret, expand(t, secret, "iv", 12), 0
}

// expand is HKDF-Expand-Label with an empty context (RFC 8446, 7.1).
func expand(t *testing.T, secret []byte, label string, length int) []byte {
	t.Helper()
	label = "tls13 " + label
	info := append([]byte{0, byte(length), byte(len(label))}, label+"\x00"...)
	out, err := hkdf.Expand(sha256.New, secret, string(info), length)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// record is one record.
func (k *keyed) record(kind byte, content ...byte) []byte {
	nonce := bytes.Clone(k.iv)
	for i := range 8 {
		nonce[4+i] ^= byte(k.number >> (56 - 8*i))
	}
	k.number++
	length := len(content) + 1 + k.seal.Overhead()
	head := []byte{23, 3, 3, byte(length >> 8), byte(length)}
	return k.seal.Seal(head, nonce, append(content, kind), head)
}

// asksForKeys is a record that asks for new keys, after which the client's are new.
func (k *keyed) asksForKeys(t *testing.T) []byte {
	t.Helper()
	record := k.record(22, 24, 0, 0, 1, 1)
	k.takes(t, expand(t, k.secret, "traffic upd", 32))
	return record
}

// TestNewKeys checks that a client which asks for new keys on and on is cut off, and that one that asks once is served.
func TestNewKeys(t *testing.T) {
	var asked atomic.Int64
	s := serve(t, Config{
		HTTP: config.HTTP{Address: "127.0.0.1:0", Access: config.AccessOpen, TLS: writePair(t, t.TempDir(), 1)}, Log: zap.NewNop(), Elections: nobody{}, Health: counted{&asked},
	})
	const request = "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
	k := shakesHands(t, s)
	if _, err := k.Write(append(k.asksForKeys(t), k.record(23, []byte(request)...)...)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(k); err != nil || asked.Load() != 1 {
		t.Errorf("new keys once: %v, asked %d times", err, asked.Load())
	}
	k = shakesHands(t, s)
	_, _ = k.Write(k.record(23, []byte("GET /livez HTTP/1.1\r\nX: ")...))
	for range 20 { // package tls takes 16 in a row, and 20 times as many with a byte in between
		for range 15 {
			_, _ = k.Write(k.asksForKeys(t))
		}
		_, _ = k.Write(k.record(23, 'x'))
	}
	answers, err := io.ReadAll(k)
	if n := len(answers) / 27; n > mostWrites || errors.Is(err, os.ErrDeadlineExceeded) { // an answer has 5 + 5 + 1 + 16 bytes
		t.Errorf("%d answers, %v", n, err)
	}
}
