package hostile

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// served is a program that is asked over connections. Attacks are requests: see parseRequest.
type served struct {
	process   *process
	lists     []string          // files of attacks
	addresses map[string]string // by name; "" is where requests go that say nothing
	words     map[string]string // what stands for what in attacks: $POST, $GET
	health    string            // a URL that answers 200
	mcp       bool              // it is healthy if a new client gets a session
	tls       *tls.Config       // for addresses with TLS
	client    *http.Client      // who asks for health; nil: one without TLS
}

func (s *served) Attacks() ([]Attack, error) {
	var all []Attack
	for _, name := range s.lists {
		list, err := List(name)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

func (s *served) Try(ctx context.Context, a Attack) (Outcome, error) {
	words := s.words
	if s.mcp && bytes.Contains(a.Input, []byte("$SESSION")) {
		var err error
		if words, err = s.session(ctx); err != nil {
			return Outcome{}, err
		}
	}
	for word, text := range words {
		a.Input = bytes.ReplaceAll(a.Input, []byte(word), []byte(text))
	}
	return tryRequest(ctx, a, s.addresses, s.tls)
}

func (s *served) Healthy(ctx context.Context) error {
	if err := s.process.alive(); err != nil {
		return err
	}
	if s.mcp {
		_, err := s.session(ctx)
		return err
	}
	return get(ctx, s.client, s.health)
}

func (s *served) Peak() uint64 { return s.process.memory.since() }

func (s *served) Close() (uint64, string, error) { return s.process.close() }

// get asks a URL, which must answer 200. A client that is nil stands for one without TLS.
func get(ctx context.Context, client *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := cmp.Or(client, http.DefaultClient).Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %d", url, res.StatusCode)
	}
	return nil
}

// ready waits until the program answers.
func (s *served) ready(ctx context.Context) (Trier, error) {
	if err := until(ctx, s.process, "an answer", func() bool { return s.Healthy(ctx) == nil }); err != nil {
		_, _, _ = s.process.close()
		return nil, err
	}
	return s, nil
}

// home makes a folder for a target's files.
func (p *Programs) home(name string) (string, error) {
	dir := filepath.Join(p.Dir, strings.ReplaceAll(name, " ", "-"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for %s: %w", name, err)
	}
	return dir, nil
}

func (p *Programs) path(program string) string { return filepath.Join(p.Bin, program) }

// Paths of the protocols.
const (
	otlpMetrics = "/v1/metrics"
	metricsPath = "/metrics"
	mcpPath     = "/mcp"
)

func startFleet(ctx context.Context, p *Programs) (Trier, error) {
	dir, err := p.home("fleet")
	if err != nil {
		return nil, err
	}
	at, err := free(2)
	if err != nil {
		return nil, err
	}
	s := &served{
		lists: []string{"http", "otlp", "fleet"}, addresses: map[string]string{"": at[0], "api": at[0], "grpc": at[1]},
		words:  map[string]string{"$POST": otlpMetrics + "?cluster_id=c", "$GET": "/api/v1/cohorts?cluster_id=c"},
		health: "http://" + at[0] + "/api/v1/openapi.json",
	}
	if s.process, err = start(ctx, dir, p.path("ingero-fleet"), "serve", "--listen", at[0], "--grpc", at[1]); err != nil {
		return nil, err
	}
	return s.ready(ctx)
}

func startCollector(ctx context.Context, p *Programs) (Trier, error) {
	dir, err := p.home("collector")
	if err != nil {
		return nil, err
	}
	at, err := free(6)
	if err != nil {
		return nil, err
	}
	_, port, _ := strings.Cut(at[5], ":")
	config := filepath.Join(dir, "collector.yaml")
	text, err := os.ReadFile(filepath.Join(p.Tree, "collector/config/ingero-fleet.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read the collector's configuration: %w", err)
	}
	for name, value := range map[string]string{
		"API": at[0], "HEALTH": at[1], "GRPC": at[2], "HTTP": at[3], "PROMETHEUS": at[4], "METRICS_PORT": port,
		"FILE": filepath.Join(dir, "out.json"),
	} {
		text = regexp.MustCompile(`\$\{env:INGERO_FLEET_`+name+`:-[^}]*\}`).ReplaceAllLiteral(text, []byte(value))
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		return nil, fmt.Errorf("write the collector's configuration: %w", err)
	}
	s := &served{
		lists: []string{"http", "otlp", "fleet"}, addresses: map[string]string{"": at[3], "grpc": at[2], "api": at[0]},
		words:  map[string]string{"$POST": otlpMetrics + "?cluster_id=c", "$GET": "/?a=b"},
		health: "http://" + at[0] + "/api/v1/openapi.json",
	}
	if s.process, err = start(ctx, dir, p.path("ingero-fleet-collector"), "--config", config); err != nil {
		return nil, err
	}
	return s.ready(ctx)
}

// echoAt are the addresses of an Echo.
type echoAt struct{ grpc, http, api, health string }

func startEcho(ctx context.Context, p *Programs, name string) (*process, echoAt, error) {
	dir, err := p.home(name)
	if err != nil {
		return nil, echoAt{}, err
	}
	a, err := free(4)
	if err != nil {
		return nil, echoAt{}, err
	}
	at := echoAt{a[0], a[1], a[2], a[3]}
	e, err := start(ctx, dir, p.path("ingero-echo"), "serve", "--db-path", filepath.Join(dir, "echo.db"),
		"--otlp-addr", at.grpc, "--otlp-http-addr", at.http, "--mcp-addr", at.api, "--health-addr", at.health)
	return e, at, err
}

func startEchoOTLP(ctx context.Context, p *Programs) (Trier, error) {
	e, at, err := startEcho(ctx, p, "echo-otlp")
	if err != nil {
		return nil, err
	}
	s := &served{
		process: e, lists: []string{"http", "otlp", "echo"},
		addresses: map[string]string{"": at.http, "grpc": at.grpc, "api": at.api},
		words:     map[string]string{"$POST": otlpMetrics, "$GET": "/?a=b"}, health: "http://" + at.health + "/readyz",
	}
	return s.ready(ctx)
}

// recording is the recording about which questions are asked: a copy, which must not change.
func (p *Programs) recording(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(p.Tree, "investigations/noisy-neighbour.db"))
	if err != nil {
		return "", fmt.Errorf("read a recording: %w", err)
	}
	path := filepath.Join(dir, "run.db")
	if err := os.WriteFile(path, b, 0o400); err != nil {
		return "", fmt.Errorf("copy a recording: %w", err)
	}
	return path, nil
}

func startNode(ctx context.Context, p *Programs) (Trier, error) {
	dir, err := p.home("node")
	if err != nil {
		return nil, err
	}
	db, err := p.recording(dir)
	if err != nil {
		return nil, err
	}
	at, err := free(1)
	if err != nil {
		return nil, err
	}
	s := &served{
		lists: []string{"http", "node"}, addresses: map[string]string{"": at[0]},
		words:  map[string]string{"$POST": "/api/v1/query", "$GET": "/api/v1/overview?a=b"},
		health: "http://" + at[0] + "/api/v1/healthz",
	}
	if s.process, err = start(ctx, dir, p.path("ingero"), "dashboard", db, "--no-tls", "--http", at[0]); err != nil {
		return nil, err
	}
	return s.ready(ctx)
}

func startMCP(ctx context.Context, p *Programs) (Trier, error) {
	dir, err := p.home("mcp")
	if err != nil {
		return nil, err
	}
	db, err := p.recording(dir)
	if err != nil {
		return nil, err
	}
	at, err := free(1)
	if err != nil {
		return nil, err
	}
	s := &served{
		lists: []string{"http", "mcp"}, addresses: map[string]string{"": at[0]},
		words: map[string]string{"$POST": mcpPath, "$GET": mcpPath + "?a=b"}, mcp: true,
	}
	if s.process, err = start(ctx, dir, p.path("ingero"), "mcp", db, "--no-tls", "--http", at[0]); err != nil {
		return nil, err
	}
	return s.ready(ctx)
}

// session begins a session, which is never ended, and returns it as a word of attacks.
func (s *served) session(ctx context.Context) (map[string]string, error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` +
		`"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"hostile","version":"1"}}}`
	url := "http://" + s.addresses[""] + mcpPath
	if address, ok := strings.CutPrefix(s.addresses[""], tlsAddress); ok {
		url = "https://" + address + mcpPath
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(hello))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	res, err := cmp.Or(s.client, http.DefaultClient).Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("a new session: status %d: %s", res.StatusCode, shown(string(b)))
	}
	words := map[string]string{"$SESSION": res.Header.Get("Mcp-Session-Id")}
	maps.Copy(words, s.words)
	return words, nil
}

// free returns addresses of this machine at which nothing listens.
func free(n int) ([]string, error) {
	list := make([]string, n)
	for i := range list {
		var err error
		if list[i], err = freeAddress(); err != nil {
			return nil, err
		}
	}
	return list, nil
}
