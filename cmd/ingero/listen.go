package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/lib/fewlogs"
	"github.com/ingero-io/ingero/lib/smallfile"
	"github.com/ingero-io/ingero/serve/mcpserver"
	"github.com/ingero-io/ingero/serve/webserver"
)

// minToken is the minimum length of a token, so that it cannot be guessed.
const minToken = 16

// service is a server over HTTP.
type service struct {
	name     string // of its token and certificate in ~/.ingero: NAME-token, NAME-cert.pem, NAME-key.pem
	title    string // for people
	path     string // path of the printed address
	tokenEnv string // has the token if no flag does
	remote   bool   // --no-tls is also allowed where other machines can connect
}

// The services.
var (
	mcpService  = service{name: "mcp", title: "MCP", path: mcpserver.Path, tokenEnv: "INGERO_MCP_TOKEN"}
	nodeService = service{name: "node", title: "dashboard", path: "/", tokenEnv: "INGERO_NODE_TOKEN", remote: true}
)

// listenAddress is the address of a service, and who can reach it.
type listenAddress struct {
	service
	address   string // host:port
	names     []string
	cert, key string
	clientCA  string
	plain     bool
	token     string
	tokenFile string
}

// listenFlags are the flags beside --http.
var listenFlags = []string{"host", "tls-cert", "tls-key", "client-ca", "no-tls", "token", "token-file"}

func (a *listenAddress) addFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringSliceVar(&a.names, "host", nil, "another name by which clients reach this machine")
	fl.StringVar(&a.cert, "tls-cert", "", "certificate, with its chain, as PEM (default: one is generated and kept)")
	fl.StringVar(&a.key, "tls-key", "", "key of the certificate, as PEM")
	fl.StringVar(&a.clientCA, "client-ca", "",
		"file with CA certificates (PEM): callers must present a certificate that one of them signed; "+
			"then a token is needed only if one is set")
	where := "; only for an address of this machine, like 127.0.0.1"
	if a.remote {
		where = "; others on the network can then read the data and the token"
	}
	fl.BoolVar(&a.plain, "no-tls", false, "serve HTTP without TLS"+where)
	fl.StringVar(&a.token, "token", "",
		"token that callers must send; other users can see it in the list of processes, so prefer --token-file")
	fl.StringVar(&a.tokenFile, "token-file", "",
		fmt.Sprintf("file with the token (default $%s, else ~/.ingero/%s-token if it exists)", a.tokenEnv, a.name))
	for _, name := range []string{"tls-cert", "tls-key", "client-ca", "token-file"} {
		_ = cmd.MarkFlagFilename(name) // fails only for a flag that does not exist
	}
}

// check refuses combinations of flags that make no sense.
func (a *listenAddress) check(cmd *cobra.Command) error {
	if a.address == "" {
		for _, name := range listenFlags {
			if cmd.Flags().Changed(name) {
				return usage("--%s needs --http ADDRESS; see %s --help", name, cmd.CommandPath())
			}
		}
	}
	if (a.cert == "") != (a.key == "") {
		return usage("--tls-cert and --tls-key belong together; give both")
	}
	if a.plain && (a.cert != "" || a.clientCA != "") {
		return usage("--no-tls contradicts --tls-cert and --client-ca; leave one out")
	}
	return mutuallyExclusive(cmd, "token", "token-file")
}

// listener is a server that has its address, and answers once it is started.
type listener struct {
	service
	ln   net.Listener
	cert *webserver.Cert // nil: no TLS
	opts webserver.Options
	from string // where the token comes from
	url  string
}

// listen checks access, and opens the address.
func (c *console) listen(a *listenAddress, log *slog.Logger) (*listener, error) {
	host, port, err := net.SplitHostPort(a.address)
	if err != nil {
		return nil, usage("invalid address %q: want HOST:PORT, like 127.0.0.1:8443", a.address)
	}
	local := webserver.Loopback(host)
	l := &listener{service: a.service, opts: webserver.Options{Addresses: !local, Logger: fewlogs.New(log, c.now)}}
	if a.plain && !local && !a.remote {
		return nil, usage("without TLS, others on the network could read the data and the token; use 127.0.0.1:%s "+
			"instead of %s, or leave out --no-tls", port, a.address)
	}
	if l.opts.Token, l.from, err = c.serviceToken(a); err != nil {
		return nil, err
	}
	if a.clientCA != "" {
		if l.opts.ClientCAs, err = readCertificates(a.clientCA); err != nil {
			return nil, err
		}
	}
	if l.opts.Token == "" && l.opts.ClientCAs == nil && !local {
		return nil, usage("%s can be reached from other machines, so callers need a token. Make one:\n"+
			"  (umask 077; mkdir -p ~/.ingero; openssl rand -hex 32 > ~/.ingero/%s-token)\n"+
			"and try again; or serve this machine only: 127.0.0.1:%s", a.address, a.name, port)
	}
	l.opts.Names = a.ownNames(host, local)
	if !a.plain {
		if l.cert, err = c.serviceCert(a, l.opts.Names); err != nil {
			return nil, err
		}
	}
	if l.ln, err = net.Listen("tcp", a.address); err != nil {
		return nil, fmt.Errorf("serve the %s: %w", a.title, err)
	}
	l.url = l.link(host)
	return l, nil
}

// ownNames are the host names of the server.
func (a *listenAddress) ownNames(host string, local bool) []string {
	names := slices.Clone(a.names)
	if local {
		return names
	}
	if h, err := os.Hostname(); err == nil {
		names = append(names, h)
	}
	if host != "" && net.ParseIP(host) == nil {
		names = append(names, host)
	}
	return names
}

// serviceToken returns the token and where it comes from, both empty if there is none.
func (c *console) serviceToken(a *listenAddress) (token, from string, err error) {
	switch {
	case a.token != "":
		token, from = a.token, "--token"
	case a.tokenFile != "":
		token, err = readToken(a.tokenFile)
		from = a.tokenFile
	case c.env(a.tokenEnv) != "":
		token, from = c.env(a.tokenEnv), "$"+a.tokenEnv
	default:
		o, err := c.owner()
		if err != nil {
			return "", "", nil //nolint:nilerr // without a home there is no file in it
		}
		from = filepath.Join(o.folder(), a.name+"-token")
		if token, err = readToken(from); errors.Is(err, fs.ErrNotExist) {
			return "", "", nil
		} else if err != nil {
			return "", "", err
		}
	}
	if err == nil && len(token) < minToken {
		err = usage("the token from %s has %d characters; take at least %d, for example from: openssl rand -hex 32", from,
			len(token), minToken)
	}
	if err == nil && strings.ContainsFunc(token, unicode.IsControl) {
		err = usage("the token from %s has several lines or control characters, which no client can send; take one line, "+
			"for example from: openssl rand -hex 32", from)
	}
	return token, from, err
}

func readToken(path string) (string, error) {
	b, err := smallfile.Read(path)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// addressesOf are the IP addresses at which a listening address can be reached: itself, or all of
// this machine's.
func addressesOf(listen string) []string {
	host, _, err := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	if err != nil || host != "" && ip == nil {
		return nil
	}
	if ip != nil && !ip.IsUnspecified() {
		return []string{host}
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return nil // a certificate for fewer names still works
	}
	var ips []string
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			ips = append(ips, n.IP.String())
		}
	}
	return ips
}

// serviceCert reads the certificate given by flags, or the one kept for this user.
func (c *console) serviceCert(a *listenAddress, names []string) (*webserver.Cert, error) {
	if a.cert != "" {
		return webserver.LoadCert(a.cert, a.key)
	}
	o, err := c.owner()
	if err != nil {
		return nil, fmt.Errorf("%w; or pass --tls-cert and --tls-key", err)
	}
	if err := o.makeFolder(o.folder()); err != nil {
		return nil, fmt.Errorf("create the folder of the certificate: %w; or pass --tls-cert and --tls-key", err)
	}
	valid := append([]string{"localhost", "127.0.0.1", "::1"}, names...)
	for _, ip := range addressesOf(a.address) {
		if !slices.Contains(valid, ip) {
			valid = append(valid, ip)
		}
	}
	if h, err := os.Hostname(); err == nil && !slices.Contains(valid, h) {
		valid = append(valid, h)
	}
	cert, err := webserver.OwnCert(o.folder(), a.name, valid, c.now())
	if err != nil {
		return nil, err
	}
	for _, path := range cert.Made {
		if err := o.give(path); err != nil {
			return nil, err
		}
	}
	return cert, nil
}

// link is the URL for a client.
func (l *listener) link(host string) string {
	scheme := "https"
	if l.cert == nil {
		scheme = "http"
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
		if h, err := os.Hostname(); err == nil {
			host = h
		}
	}
	_, port, _ := net.SplitHostPort(l.ln.Addr().String()) // made by this program
	return scheme + "://" + net.JoinHostPort(host, port) + l.path
}

// describe prints how to reach the server.
func (l *listener) describe(w io.Writer, path string) {
	fmt.Fprintf(w, "%s for %s at %s\n", l.title, path, l.url)
	if l.cert != nil {
		state := ""
		if l.cert.Generated {
			state = ", generated now"
		}
		fmt.Fprintf(w, "  certificate  %s, until %s%s\n", l.cert.Path, l.cert.Until().Format("2006-01-02"), state)
		fmt.Fprintf(w, "  SHA-256      %s\n", l.cert.Fingerprint())
		if lacks := l.cert.Lacks(l.opts.Names); len(lacks) > 0 {
			fmt.Fprintf(w, "  warning: the certificate is not for %s; delete it to have a new one generated\n",
				strings.Join(lacks, ", "))
		}
	}
	switch {
	case l.opts.ClientCAs != nil:
		fmt.Fprintln(w, "  callers      must present a certificate that --client-ca signed")
	case l.cert == nil && l.opts.Addresses:
		fmt.Fprintln(w, "  warning: without TLS, others on the network can read the data and the token")
	}
	switch {
	case l.from == "" && l.opts.ClientCAs != nil:
	case l.from == "":
		fmt.Fprintln(w, "  token        none needed: only this machine can reach the address")
	default:
		fmt.Fprintf(w, "  token        from %s; clients send \"Authorization: Bearer TOKEN\"\n", l.from)
	}
}

// tls is the certificate of the server, nil for none.
func (l *listener) tls() *tls.Certificate {
	if l.cert == nil {
		return nil
	}
	return &l.cert.TLS
}

// readCertificates reads CA certificates.
func readCertificates(path string) (*x509.CertPool, error) {
	text, err := smallfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("read the certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("no certificate in %s: want PEM, with -----BEGIN CERTIFICATE-----", path)
	}
	return pool, nil
}
