package app

import (
	"go.uber.org/zap"

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
	Log: func(d *parent.Dead) *zap.Logger { return newLogger(d.Note(noteLogLevel), d.Note(noteLogFormat)) },
}
