package main

import (
	"context"
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

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/mcpserver"
	"github.com/ingero-io/ingero/webserver"
)

const (
	// tokenEnv has the token of the MCP server when no flag does.
	tokenEnv = "INGERO_MCP_TOKEN"
	// minToken is the shortest token accepted: it must not be guessed.
	minToken = 16
)

// mcpAddress is where MCP is served over HTTP, and to whom.
type mcpAddress struct {
	address   string // host:port
	names     []string
	cert, key string
	plain     bool
	token     string
	tokenFile string
}

func (a *mcpAddress) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringSliceVar(&a.names, "host", nil, "a name that this machine is reached by, beside its host name")
	fl.StringVar(&a.cert, "tls-cert", "", "certificate, with its chain, as PEM (default: one is generated and kept)")
	fl.StringVar(&a.key, "tls-key", "", "key of the certificate, as PEM")
	fl.BoolVar(&a.plain, "no-tls", false, "serve HTTP without TLS; only for an address of this machine, like 127.0.0.1")
	fl.StringVar(&a.token, "token", "", "what callers must show; other users of this machine can see it here, so rather use a file")
	fl.StringVar(&a.tokenFile, "token-file", "", "file with the token (default $"+tokenEnv+", else ~/.ingero/mcp-token if it exists)")
	for _, name := range []string{"tls-cert", "tls-key", "token-file"} {
		_ = cmd.MarkFlagFilename(name) // fails only for a flag that does not exist
	}
}

// check refuses flags that make no sense together.
func (a *mcpAddress) check(cmd *cobra.Command) error {
	if a.address == "" {
		for _, name := range []string{"host", "tls-cert", "tls-key", "no-tls", "token", "token-file"} {
			if cmd.Flags().Changed(name) {
				return usage("--%s is for --http ADDRESS; see %s --help", name, cmd.CommandPath())
			}
		}
	}
	if (a.cert == "") != (a.key == "") {
		return usage("--tls-cert and --tls-key belong together; give both")
	}
	if a.plain && a.cert != "" {
		return usage("--no-tls and --tls-cert contradict each other; give one")
	}
	return apart(cmd, "token", "token-file")
}

// mcpListener is a server that has its address, and answers once it is told to.
type mcpListener struct {
	ln   net.Listener
	cert *webserver.Cert // nil: no TLS
	opts webserver.Options
	from string // where the token comes from
	url  string
}

// listenMCP checks who may call, and takes the address.
func (c *console) listenMCP(a *mcpAddress, log *slog.Logger) (*mcpListener, error) {
	host, port, err := net.SplitHostPort(a.address)
	if err != nil {
		return nil, usage("%q is no address; write HOST:PORT, like 127.0.0.1:8443", a.address)
	}
	local := webserver.Loopback(host)
	l := &mcpListener{opts: webserver.Options{Addresses: !local, Logger: log}}
	if a.plain && !local {
		return nil, usage("without TLS, data and token could be read on the way to %s; use 127.0.0.1:%s, or leave out --no-tls", a.address, port)
	}
	if l.opts.Token, l.from, err = c.mcpToken(a); err != nil {
		return nil, err
	}
	if l.opts.Token == "" && !local {
		return nil, usage("%s can be reached from other machines, so callers need a token. Make one:\n"+
			"  (umask 077; mkdir -p ~/.ingero; openssl rand -hex 32 > ~/.ingero/mcp-token)\n"+
			"and try again; or serve this machine only: 127.0.0.1:%s", a.address, port)
	}
	l.opts.Names = a.ownNames(host, local)
	if !a.plain {
		if l.cert, err = c.mcpCert(a, l.opts.Names); err != nil {
			return nil, err
		}
	}
	if l.ln, err = net.Listen("tcp", a.address); err != nil {
		return nil, fmt.Errorf("serve MCP: %w", err)
	}
	l.url = l.link(host)
	return l, nil
}

// ownNames are what the server may be called.
func (a *mcpAddress) ownNames(host string, local bool) []string {
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

// mcpToken returns the token and where it comes from, both empty if there is none.
func (c *console) mcpToken(a *mcpAddress) (token, from string, err error) {
	switch {
	case a.token != "":
		token, from = a.token, "--token"
	case a.tokenFile != "":
		token, err = readToken(a.tokenFile)
		from = a.tokenFile
	case c.env(tokenEnv) != "":
		token, from = c.env(tokenEnv), "$"+tokenEnv
	default:
		o, err := c.owner()
		if err != nil {
			return "", "", nil //nolint:nilerr // without a home there is no file in it
		}
		from = filepath.Join(o.folder(), "mcp-token")
		if token, err = readToken(from); errors.Is(err, fs.ErrNotExist) {
			return "", "", nil
		} else if err != nil {
			return "", "", err
		}
	}
	if err == nil && len(token) < minToken {
		err = usage("the token from %s has %d characters; take at least %d, for example from: openssl rand -hex 32", from, len(token), minToken)
	}
	return token, from, err
}

func readToken(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// mcpCert reads the certificate that was given, or the one that is kept for this user.
func (c *console) mcpCert(a *mcpAddress, names []string) (*webserver.Cert, error) {
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
	if host, _, err := net.SplitHostPort(a.address); err == nil && net.ParseIP(host) != nil && !slices.Contains(valid, host) {
		valid = append(valid, host)
	}
	if h, err := os.Hostname(); err == nil && !slices.Contains(valid, h) {
		valid = append(valid, h)
	}
	cert, err := webserver.OwnCert(o.folder(), "mcp", valid, c.now())
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

// link is the address for a client.
func (l *mcpListener) link(host string) string {
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
	_, port, _ := net.SplitHostPort(l.ln.Addr().String()) // of our own making
	return scheme + "://" + net.JoinHostPort(host, port) + mcpserver.Path
}

// describe tells a person how to reach the server.
func (l *mcpListener) describe(w io.Writer, path string) {
	fmt.Fprintf(w, "MCP for %s at %s\n", path, l.url)
	if l.cert != nil {
		state := ""
		if l.cert.Generated {
			state = ", generated now"
		}
		fmt.Fprintf(w, "  certificate  %s, until %s%s\n", l.cert.Path, l.cert.Until().Format("2006-01-02"), state)
		fmt.Fprintf(w, "  SHA-256      %s\n", l.cert.Fingerprint())
		if lacks := l.cert.Lacks(l.opts.Names); len(lacks) > 0 {
			fmt.Fprintf(w, "  warning: the certificate is not for %s; delete it to have a new one generated\n", strings.Join(lacks, ", "))
		}
	}
	if l.from == "" {
		fmt.Fprintln(w, "  token        none needed: only this machine can reach the address")
	} else {
		fmt.Fprintf(w, "  token        from %s; clients send \"Authorization: Bearer TOKEN\"\n", l.from)
	}
}

func (l *mcpListener) serve(ctx context.Context, server *mcp.Server) error {
	if l.cert == nil {
		return mcpserver.Serve(ctx, l.ln, server, nil, l.opts)
	}
	return mcpserver.Serve(ctx, l.ln, server, &l.cert.TLS, l.opts)
}
