package hostile

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// live is a tracer that serves the recording that it makes: the dashboard and MCP over TLS, metrics without. Each of
// them is attacked, and all must answer after each attack.
type live struct {
	*traced
	names   []string // of servers, in the order of attacks
	servers map[string]*served
}

// calls is how many calls are recorded before the attacks, so that SQL has something to multiply.
const calls = 2000

func startLive(ctx context.Context, p *Programs) (Trier, error) {
	at, err := free(2)
	if err != nil {
		return nil, err
	}
	t, err := startTraced(ctx, p, "live", "--dashboard", at[0], "--mcp", at[1])
	if err != nil {
		return nil, err
	}
	l := &live{traced: t, names: []string{"dashboard", "MCP", "metrics"}}
	if err := l.prepare(ctx, at[0], at[1]); err != nil {
		_, _, _ = t.process.close()
		return nil, err
	}
	return l, nil
}

// prepare lets the tracer record something, and waits until all servers answer.
func (l *live) prepare(ctx context.Context, dashboard, agents string) error {
	if err := l.honest(ctx, calls); err != nil {
		return err
	}
	conf, err := trusting(filepath.Join(l.dir, ".ingero/node-cert.pem"), filepath.Join(l.dir, ".ingero/mcp-cert.pem"))
	if err != nil {
		return err
	}
	// A client of its own each time: others must get in while attackers have connections.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true}}
	l.servers = map[string]*served{
		"dashboard": {
			lists: []string{"http", "tls", "node"}, addresses: map[string]string{"": tlsAddress + dashboard},
			words:  map[string]string{"$POST": "/api/v1/query", "$GET": "/api/v1/overview?a=b"},
			health: "https://" + dashboard + "/api/v1/healthz",
		},
		"MCP": {
			lists: []string{"http", "tls", "mcp"}, addresses: map[string]string{"": tlsAddress + agents},
			words: map[string]string{"$POST": mcpPath, "$GET": mcpPath + "?a=b"}, mcp: true,
		},
		"metrics": {
			lists: []string{"http"}, addresses: map[string]string{"": l.metrics},
			words:  map[string]string{"$POST": metricsPath, "$GET": metricsPath + "?a=b"},
			health: l.scraped(),
		},
	}
	for _, s := range l.servers {
		s.process, s.tls, s.client = l.process, conf, client
	}
	var last error
	err = until(ctx, l.process, "all servers", func() bool { last = l.Healthy(ctx); return last == nil })
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}

// trusting is a configuration of clients that trust certificates of files.
func trusting(files ...string) (*tls.Config, error) {
	pool := x509.NewCertPool()
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the tracer's certificate: %w", err)
		}
		if !pool.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("%s is no certificate", file)
		}
	}
	return &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS13}, nil
}

func (l *live) Attacks() ([]Attack, error) {
	var all []Attack
	for _, name := range l.names {
		list, err := l.servers[name].Attacks()
		if err != nil {
			return nil, err
		}
		for _, a := range list {
			a.Name = name + ": " + a.Name
			all = append(all, a)
		}
	}
	return all, nil
}

func (l *live) Try(ctx context.Context, a Attack) (Outcome, error) {
	name, _, _ := strings.Cut(a.Name, ": ")
	return l.servers[name].Try(ctx, a)
}

func (l *live) Healthy(ctx context.Context) error {
	for _, name := range l.names {
		if err := l.servers[name].Healthy(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Close ends the tracer, which must still have recorded what an honest program calls.
func (l *live) Close() (uint64, string, error) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	err := l.honest(ctx, 1)
	peak, printed, again := l.traced.Close()
	return peak, printed, errors.Join(err, again)
}
