package webserver

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/lib/crosssite"
)

// named reports whether requests for this host are allowed.
func (o *Options) named(hostport string) bool {
	name := crosssite.Hostname(hostport)
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
func Loopback(host string) bool { return crosssite.Loopback(host) }
