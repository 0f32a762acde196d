package app

import (
	"os"
	"slices"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
	"github.com/primacy-dev/primacy/pkg/runners/parent/burial"
)

// What a member notes for its parent.
const (
	noteKubeconfig = "kubeconfig"
	noteNamespace  = "namespace"
	noteLogLevel   = "logLevel"
	noteLogFormat  = "logFormat"
)

// afterDeath is how the parent of a dead member finds the member's session, and where it logs.
var afterDeath = burial.Plan{
	Sessions: func(d *parent.Dead) (lock.Store, error) {
		cluster, err := findCluster(d.Note(noteKubeconfig))
		if err != nil {
			return nil, err
		}
		client, err := lease.NewClient(cluster.config)
		if err != nil {
			return nil, err
		}
		return lease.In(client, d.Note(noteNamespace)), nil
	},
	Log: func(d *parent.Dead) *zap.Logger {
		return newLoggerTo(&impatient{to: os.Stderr}, d.Note(noteLogLevel), d.Note(noteLogFormat))
	},
}

// impatient writes what is taken within logPatience, and nothing after something that was not: a log that nobody reads must not keep
// a parent from ending as its member did. Whoever uses it locks it.
type impatient struct {
	to     zapcore.WriteSyncer
	gaveUp bool
}

// logPatience is how long a parent waits for each of its lines to be taken.
const logPatience = time.Second

func (w *impatient) Write(line []byte) (int, error) {
	if w.gaveUp {
		return len(line), nil
	}
	kept, wrote := slices.Clone(line), make(chan error, 1)
	go func() { // ends once the line is taken, at the latest with this process
		_, err := w.to.Write(kept)
		wrote <- err
	}()
	late := clock.NewTimer(logPatience)
	defer late.Stop()
	select {
	case err := <-wrote:
		return len(line), err
	case <-late.C:
		w.gaveUp = true
		return len(line), nil
	}
}

// Sync does nothing: lines are written at once.
func (*impatient) Sync() error { return nil }
