package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// etcdSocket is relative to the data folder. Other users cannot enter that
// folder, so etcd needs no credentials.
const etcdSocket = "etcd.sock"

const etcdEndpoint = "unix://" + etcdSocket

// startEtcd starts an etcd with one member in dir and returns once it serves. It listens on its socket only,
// and has no port for peers.
func startEtcd(ctx context.Context, dir string, o options, log *zap.Logger) (*embed.Etcd, error) {
	nowhere := url.URL{Scheme: "http", Host: "127.0.0.1:1"} // for addresses that etcd requires but nobody dials
	cfg := embed.NewConfig()
	cfg.Name = "devcluster"
	cfg.Dir = dir
	cfg.ListenClientUrls = []url.URL{{Scheme: "unix", Host: etcdSocket}}
	cfg.AdvertiseClientUrls = []url.URL{nowhere}
	cfg.ListenPeerUrls = nil
	cfg.AdvertisePeerUrls = []url.URL{nowhere}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.EnableGRPCGateway = false
	cfg.UnsafeNoFsync = !o.fsync
	cfg.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration // if unset, etcd warns of every request
	// With no peer to wait for, a short election is a fast start.
	cfg.TickMs, cfg.ElectionMs = 10, 100
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(log)

	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-e.Server.ReadyNotify():
		return e, nil
	case <-e.Server.StopNotify():
		err = errors.New("it stopped")
	case err = <-e.Err():
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	stopEtcd(e, time.Second)
	return nil, fmt.Errorf("start etcd: %w", err)
}

// stopEtcd stops etcd, and waits for its end, at most for atMost. A shorter wait loses nothing: all
// acknowledged writes are in its log.
func stopEtcd(e *embed.Etcd, atMost time.Duration) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		e.Close()
	}()
	select {
	case <-closed:
	case <-time.After(atMost):
	}
}
