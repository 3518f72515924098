package webserver

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// hostname is the host of "host", "host:port", "[::1]:port", in lower case.
func hostname(hostport string) string {
	h := hostport
	if name, _, err := net.SplitHostPort(hostport); err == nil {
		h = name
	}
	h = strings.TrimSuffix(strings.TrimPrefix(h, "["), "]")
	return strings.ToLower(strings.TrimSuffix(h, "."))
}

// named reports whether the server may be addressed by this host.
func (o *Options) named(hostport string) bool {
	name := hostname(hostport)
	if Loopback(name) || slices.ContainsFunc(o.Names, func(n string) bool { return strings.EqualFold(n, name) }) {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil && o.Addresses // no name, so none that somebody else resolved
}

// ownOrigin reports whether a web page of this server, or of this machine, asks.
func (o *Options) ownOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && o.named(u.Host)
}

// Loopback reports whether a host, without a port, can only be reached from this
// machine.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
