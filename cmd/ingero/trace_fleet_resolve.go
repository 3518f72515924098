package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/ingero-io/ingero/metrics"
)

// resolveTime is how long a name may take to be resolved at the start.
const resolveTime = 5 * time.Second

// errNotResolved says that a host's name has no address now.
var errNotResolved = errors.New("cannot be resolved")

// resolved returns errNotResolved with what is known if the host of an endpoint has no address now.
func resolved(ctx context.Context, e metrics.Endpoint) error {
	host, _, err := net.SplitHostPort(e.Host)
	if err != nil {
		return err
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	_, err = net.DefaultResolver.LookupHost(ctx, host)
	if err == nil {
		return nil
	}
	why := err.Error()
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		why = e.Err
	}
	return fmt.Errorf("%s %w (%s)", host, errNotResolved, why)
}

// check refuses what is wrong with the flags at once. log is for what is only to be said.
func (f *peersFlags) check(ctx context.Context, env func(string) string, log io.Writer) error {
	if len(f.fleet) == 0 {
		return nil
	}
	client, err := f.client(env, nil)
	if err != nil {
		return err
	}
	client.Close()
	return f.resolve(ctx, log)
}

// resolve refuses a fleet that has no address: nobody would see that ranks are compared with nobody. If it is to be
// waited for, or others of several fleets are there, log says so.
func (f *peersFlags) resolve(ctx context.Context, log io.Writer) error {
	all := make([]error, len(f.fleet))
	var group sync.WaitGroup
	for i, address := range f.fleet {
		to, err := metrics.ParseEndpoint(address)
		if err != nil {
			return usage("--fleet: %w", err)
		}
		group.Go(func() { all[i] = resolved(ctx, to) })
	}
	group.Wait()
	var failed []string
	for _, err := range all {
		if err != nil {
			failed = append(failed, err.Error())
		}
	}
	why := strings.Join(failed, "; ")
	switch {
	case len(failed) == 0 || ctx.Err() != nil:
		return nil
	case f.wait:
		fmt.Fprintf(log, "ingero: --fleet: %s; it is tried again whenever there is something to push\n", why)
	case len(failed) < len(f.fleet):
		fmt.Fprintf(log, "ingero: --fleet: %s; the others are asked meanwhile\n", why)
	default:
		return usage("--fleet: %s; check the name, or pass --fleet-wait if it will have an address later", why)
	}
	return nil
}
