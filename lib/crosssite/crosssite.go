// Package crosssite keeps web pages of other sites from a server that answers programs. A page that a user has open
// can send requests to any address that the user's machine reaches, also to 127.0.0.1.
//
// A browser says in each request where it comes from (Sec-Fetch-Site, Origin), and a page cannot change that. Programs
// say nothing. A page can also have its own name resolve to the machine (DNS rebinding): its requests then look like
// those of the server's own pages, but name another host.
package crosssite

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Page is why a request of another site's page is refused.
const Page = "requests from other web pages are not allowed"

// Foreign reports whether a page of another site made the request. A user who follows a link did not: nothing of the
// answer is shown to the page with the link.
func Foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none": // a program, a page of this server, or the user
		return false
	}
	link := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return !link || r.Method != http.MethodGet && r.Method != http.MethodHead
}

// foreignOrigin reports whether the request names the page of another server than the one it is for.
func foreignOrigin(r *http.Request) bool {
	list := r.Header.Values("Origin")
	if len(list) == 0 {
		return false
	}
	u, err := url.Parse(list[0])
	return len(list) > 1 || err != nil || u.Host == "" || u.User != nil || !strings.EqualFold(u.Host, r.Host)
}

// Protect has browsers keep an answer from other sites' pages, also where they do not say where a request comes from,
// as without TLS from another machine.
func Protect(h http.Header) {
	h.Set("Cross-Origin-Resource-Policy", "same-origin") // in <img> or <script>
	h.Set("X-Content-Type-Options", "nosniff")           // JSON is no script
	h.Set("X-Frame-Options", "DENY")
}

// Handler refuses requests of other sites' pages. local says that next asks for no token and is for programs on this
// machine: then requests that name another host than this machine are refused, too.
func Handler(next http.Handler, local bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Protect(w.Header())
		switch {
		case local && !Loopback(Hostname(r.Host)):
			http.Error(w, fmt.Sprintf("host name %q is not accepted: this address is for programs on this machine; "+
				"use 127.0.0.1", Hostname(r.Host)), http.StatusForbidden)
		case Foreign(r) || foreignOrigin(r):
			http.Error(w, Page, http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// Hostname is the host of "host", "host:port", "[::1]:port", in lower case.
func Hostname(hostport string) string {
	h := hostport
	if name, _, err := net.SplitHostPort(hostport); err == nil {
		h = name
	}
	h = strings.TrimSuffix(strings.TrimPrefix(h, "["), "]")
	return strings.ToLower(strings.TrimSuffix(h, "."))
}

// Loopback reports whether a host, without a port, is reachable only from this machine.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
