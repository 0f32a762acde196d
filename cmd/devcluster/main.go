// Command devcluster is a Kubernetes API server for development and tests:
// kube-apiserver and etcd, in one process, on loopback.
//
// It is a real API server, not a fake: resource versions, watches, watch
// cache, RBAC, admission, priority and fairness behave as they do in a
// cluster. No controller runs beside it. Pods are not scheduled, a deleted
// namespace stays in state Terminating, owned objects are not collected, and
// the aggregated roles (admin, edit, view) stay empty.
//
// # Starting
//
// One line on standard output says that the server is ready: /readyz is
// ok, namespace default exists, and a Lease has been created and watched:
//
//	devcluster ready: https://127.0.0.1:21873 kubeconfig=/tmp/kc version=v1.36.3 in 2.4s
//
// Nothing else is written to standard output. The kubeconfig is complete when the
// ready line appears. A start that fails says why on standard error and exits with 1.
//
// # State
//
// Without --data-dir everything lives in a temporary folder, which is removed
// when the process ends, and so is the file written with --kubeconfig. With
// --data-dir objects, certificates, service account keys and the port are kept,
// so that kubeconfigs and tokens stay valid over a restart. A process that is
// killed with SIGKILL, or ends in a panic of the code that it embeds, cannot
// clean up: its temporary folder, $TMPDIR/devcluster-*, stays.
//
// # Ending
//
// SIGTERM, SIGINT and SIGHUP end the process with code 0. So does the end of
// its standard input, if that is a pipe or a socket: if a parent holds the other
// end, the server ends with the parent, however the parent ends. A
// terminal, a file and /dev/null are not watched. Flag --exit-on-stdin-close
// overrides this choice.
package main

import (
	"fmt"
	"os"
)

func main() {
	stderr := ownStderr()
	if err := newCommand(stderr).Execute(); err != nil {
		fmt.Fprintf(stderr, "devcluster: %v\n", err)
		os.Exit(1)
	}
}
