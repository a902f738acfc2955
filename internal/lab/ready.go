package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"
)

// waitReady returns when the libvirtd at addr answers and its pools and network are active. It gives up when ended says that
// the host is gone, or after a minute.
func waitReady(ctx context.Context, addr string, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := askReady(ctx, addr)
		if err == nil {
			return nil
		}
		select {
		case gone := <-ended:
			return fmt.Errorf("the host ended: %v", gone)
		case <-ctx.Done():
			return fmt.Errorf("libvirtd at %s is not ready: %w", addr, errors.Join(ctx.Err(), err))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func askReady(ctx context.Context, addr string) error {
	return ask(ctx, addr, func(lv *libvirt.Libvirt) error {
		pools, _, err := lv.ConnectListAllStoragePools(1, libvirt.ConnectListStoragePoolsActive)
		if err != nil {
			return err
		}
		networks, _, err := lv.ConnectListAllNetworks(1, libvirt.ConnectListNetworksActive)
		if err != nil {
			return err
		}
		if len(pools) < 3 || len(networks) < 1 {
			return fmt.Errorf("%d of 3 pools and %d of 1 networks are active", len(pools), len(networks))
		}
		return nil
	})
}

// askCapabilities makes the libvirtd at addr find out what its QEMU can do, which it otherwise does when first asked.
func askCapabilities(ctx context.Context, addr string) error {
	return ask(ctx, addr, func(lv *libvirt.Libvirt) error {
		_, err := lv.ConnectGetCapabilities()
		return err
	})
}

// ask connects to the libvirtd at addr and asks something of it. One that does not answer in time is an error.
func ask(ctx context.Context, addr string, question func(*libvirt.Libvirt) error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	// Short, since a first packet lost while the host's card comes up is sent again only after a second.
	d := net.Dialer{Timeout: 100 * time.Millisecond}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(addr, "16509"))
	if err != nil {
		return err
	}
	// The library knows no time-outs: closing the connection ends its calls.
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	lv := libvirt.NewWithDialer(dialers.NewAlreadyConnected(conn))
	if err := lv.Connect(); err != nil {
		return err
	}
	defer func() { _ = lv.Disconnect() }()
	return question(lv)
}
