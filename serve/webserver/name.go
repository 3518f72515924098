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

// named reports whether requests for this host are allowed.
func (o *Options) named(hostport string) bool {
	name := hostname(hostport)
	if Loopback(name) || slices.ContainsFunc(o.Names, func(n string) bool { return strings.EqualFold(n, name) }) {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil && o.Addresses // an IP address, which needs no name resolution
}

// ownOrigin reports whether the request comes from a web page of this server or machine.
func (o *Options) ownOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && o.named(u.Host)
}

// Loopback reports whether a host, without a port, is reachable only from this machine.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
