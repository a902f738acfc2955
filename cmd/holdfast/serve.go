package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-vm/holdfast/internal/apiserver"
	"github.com/holdfast-vm/holdfast/internal/cli"
	"github.com/holdfast-vm/holdfast/internal/engine"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/libvirt"
	"github.com/holdfast-vm/holdfast/internal/registry"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/etcd"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// storeTimeout bounds how long the store may take to be there: an embedded etcd may have to read back a long log.
const storeTimeout = 2 * time.Minute

// serve runs the API and the control plane on one store until ctx ends or one of them fails.
func serve(ctx context.Context, o cli.ServerOptions) (err error) {
	listener, err := apiserver.ListenUnix(o.Socket)
	if err != nil {
		return err
	}
	defer listener.Close()
	engine.TuneGC()
	// The store may take long to be there. Whoever asks meanwhile is told so by the API.
	var st store.Store
	api := apiserver.New(nil, apiserver.Options{
		Log: o.Log, Version: o.Version, Leader: func() string { return leader(ctx, st) }, Metrics: prometheus.DefaultGatherer})
	defer func() {
		if st != nil {
			err = errors.Join(err, st.Close())
		}
	}()
	err = together(ctx,
		func(ctx context.Context) error { return api.Serve(ctx, listener) },
		func(ctx context.Context) (err error) {
			if st, err = openStore(ctx, o); err != nil {
				st = nil // and no pointer to nothing
				return err
			}
			return control(ctx, o, st, api)
		})
	o.Log.Info("ended; guests run on")
	return err
}

// control attaches the API to the store and runs the control plane until ctx ends.
func control(ctx context.Context, o cli.ServerOptions, st store.Store, api *apiserver.Server) error {
	reg := registry.New(st, time.Now)
	config, err := reg.EnsureCluster(ctx)
	if err != nil {
		return fmt.Errorf("set up the cluster: %w", err)
	}
	api.Attach(reg)
	name := processName()
	o.Log.Info("serving", "socket", o.Socket, "cluster", config.Metadata.UID, "version", o.Version, "name", name)
	return engine.New(engine.Options{Store: st, Driver: libvirt.Driver{}, Name: name, Log: o.Log}).Run(ctx)
}

// openStore starts the embedded etcd, or reaches the one that is named.
func openStore(ctx context.Context, o cli.ServerOptions) (store.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if len(o.EtcdEndpoints) > 0 {
		o.Log.Info("waiting for etcd", "endpoints", o.EtcdEndpoints, "at most", storeTimeout)
		return etcd.Dial(ctx, etcd.DialOptions{Endpoints: o.EtcdEndpoints, Logger: o.Log})
	}
	return etcd.StartEmbedded(ctx, etcd.Options{Dir: filepath.Join(o.DataDir, "etcd"), Logger: o.Log})
}

// together runs all of them until ctx ends or one has ended; then the others are told to end, and waited for.
func together(ctx context.Context, parts ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(parts))
	for _, part := range parts {
		go func() { ended <- part(ctx) }()
	}
	var errs []error
	for range parts {
		errs = append(errs, <-ended)
		cancel()
	}
	return errors.Join(errs...)
}

// leader is the name that the oldest candidate gave itself; empty when there is none, or the store does not answer soon.
func leader(ctx context.Context, st store.Store) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	candidates, _, err := st.List(ctx, layout.Leader)
	if err != nil || len(candidates) == 0 {
		return ""
	}
	oldest := candidates[0]
	for _, c := range candidates {
		if c.CreateRevision < oldest.CreateRevision {
			oldest = c
		}
	}
	return string(oldest.Value)
}

// processName tells people who look at who leads which process it is.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d", strings.TrimSpace(host), os.Getpid())
}
