package main

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	noError(t, os.WriteFile(file, nil, 0o600))
	nowhere := filepath.Join(t.TempDir(), "missing", "file")
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	noError(t, err)
	defer taken.Close()
	badPort := t.TempDir()
	noError(t, os.WriteFile(filepath.Join(badPort, "port"), []byte("http\n"), 0o600))
	takenPort := t.TempDir()
	noError(t, os.WriteFile(filepath.Join(takenPort, "port"), []byte(strconv.Itoa(portOf(taken))), 0o600))
	corrupt := t.TempDir()
	noError(t, os.MkdirAll(filepath.Join(corrupt, "etcd", "member", "snap"), 0o700))
	noError(t, os.WriteFile(filepath.Join(corrupt, "etcd", "member", "snap", "db"), []byte(strings.Repeat("not a database", 10000)), 0o600))
	noKeys := t.TempDir()
	noError(t, os.Mkdir(filepath.Join(noKeys, "pki"), 0o700))

	for _, c := range []struct {
		args string
		want string
	}{
		{"--nonsense", "unknown flag: --nonsense (devcluster --help lists the flags)"},
		{"nonsense", `unknown command "nonsense"`},
		{"--port 70000", "--port 70000: out of range"},
		{"--port http", `invalid argument "http" for "--port"`},
		{"--port " + strconv.Itoa(portOf(taken)), "address already in use (give another --port"},
		{"--data-dir " + takenPort, "address already in use (this data folder's kubeconfigs point at it"},
		{"--data-dir " + badPort, "holds no port (remove it, or give --port)"},
		{"--data-dir " + noKeys, "ca.crt: no such file or directory (remove folder "},
		{"--data-dir " + corrupt, "failed to open database"},
		{"--data-dir " + file, "create data folder: "},
		{"--kubeconfig " + nowhere, "no such file or directory (its folder must exist)"},
		{"--audit-log " + nowhere, "open audit log: "},
		{"--exit-on-stdin-close maybe", `"maybe" is not one of auto, true, false`},
		{"mint", `required flag(s) "kubeconfig", "namespace", "out", "serviceaccount" not set`},
		{"mint --kubeconfig " + nowhere + " --namespace n --serviceaccount s --out o", "read --kubeconfig: "},
	} {
		code, stderr := run(t, strings.Fields(c.args)...)
		if code != 1 || !strings.HasPrefix(stderr, "devcluster: ") || !strings.Contains(stderr, c.want) {
			t.Errorf("devcluster %s: exit code %d, errors:\n%s\nwant:\n%s", c.args, code, stderr, c.want)
		}
	}
}
