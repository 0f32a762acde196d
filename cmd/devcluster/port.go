package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// We choose free ports below the kernel's range for outgoing connections.
// Within that range, a client that redials a stopped server can get the
// server's port as its own: then the client is connected to itself and blocks the restart.
const (
	firstPort = 20000
	lastPort  = 29999
)

// listen listens on 127.0.0.1: on the port given, else on the port stored in file, else on a free port. It
// stores the port in file.
func listen(given int, file string) (*net.TCPListener, error) {
	port, hint := given, "give another --port, or none for a free one"
	if port == 0 {
		remembered, err := readPort(file)
		if err != nil {
			return nil, err
		}
		port, hint = remembered, "this data folder's kubeconfigs point at it: stop what uses it, or give another --port and write them again"
	}
	ln, err := bind(port)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w (%s)", err, hint)
	}
	if err != nil {
		return nil, err
	}
	if err := writeFile(file, []byte(strconv.Itoa(portOf(ln))+"\n")); err != nil {
		return nil, errors.Join(fmt.Errorf("remember port: %w", err), ln.Close())
	}
	return ln, nil
}

func bind(port int) (*net.TCPListener, error) {
	if port != 0 {
		return net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	}
	var err error
	for range 100 {
		var ln *net.TCPListener
		if ln, err = bind(firstPort + rand.IntN(lastPort-firstPort+1)); err == nil {
			return ln, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("find a free port from %d to %d: %w", firstPort, lastPort, err)
}

func portOf(ln net.Listener) int { return ln.Addr().(*net.TCPAddr).Port }

// readPort returns 0 if there is no such file.
func readPort(file string) (int, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read remembered port: %w", err)
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("read remembered port: %s holds no port (remove it, or give --port)", file)
	}
	return port, nil
}
