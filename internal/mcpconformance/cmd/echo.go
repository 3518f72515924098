package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ingero-io/ingero/serve/webserver"
)

// echoDemo has the suite and the inspector try "ingero-echo demo".
func (t *trial) echoDemo(ctx context.Context) error {
	p, err := t.start(ctx, "/mcp", t.echo, "demo", "--mcp-addr", "127.0.0.1:0")
	if err != nil {
		return err
	}
	url := addressLine.FindString(p.line)
	return errors.Join(t.suite(ctx, url, "--expected-failures", t.expected),
		t.inspect(ctx, nil, []string{url, "--transport", "http"}), p.end())
}

func (t *trial) echoStdio(ctx context.Context) error {
	return t.inspect(ctx, nil, []string{t.echo, "demo", "--stdio"})
}

// echoHTTPS has the inspector try "ingero-echo serve", which has no rows, with tokens and a certificate.
func (t *trial) echoHTTPS(ctx context.Context) error {
	const reads, writes = "a-token-that-reads", "a-token-that-writes"
	tokens := filepath.Join(t.dir, "tokens")
	if err := os.WriteFile(tokens, []byte(reads+" read\n"+writes+" write\n"), 0o600); err != nil {
		return err
	}
	if _, err := webserver.OwnCert(t.dir, "echo", []string{"127.0.0.1"}, time.Now()); err != nil {
		return err
	}
	cert := filepath.Join(t.dir, "echo-cert.pem")
	p, err := t.start(ctx, "listening for=questions", t.echo, "serve", "--db-path", filepath.Join(t.dir, "echo.db"),
		"--otlp-addr", "127.0.0.1:0", "--otlp-http-addr", "", "--mcp-addr", "127.0.0.1:0", "--health-addr", "",
		"--auth-token-file", tokens, "--cert", cert, "--key", filepath.Join(t.dir, "echo-key.pem"))
	if err != nil {
		return err
	}
	_, at, _ := strings.Cut(p.line, " at=")
	at, _, _ = strings.Cut(at, " ")
	env := []string{"NODE_EXTRA_CA_CERTS=" + cert}
	with := func(token string) []string {
		return []string{"https://" + at + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + token}
	}
	err = t.inspect(ctx, env, with(reads))
	for _, wrong := range []string{writes, "another-token"} {
		if _, _, e := t.inspection(ctx, env, with(wrong), "tools/list"); e == nil {
			err = errors.Join(err, fmt.Errorf("%s was taken", wrong))
		}
	}
	if _, _, e := t.inspection(ctx, nil, with(reads), "tools/list"); e == nil {
		err = errors.Join(err, errors.New("the certificate was trusted without being known"))
	}
	return errors.Join(err, p.end())
}
