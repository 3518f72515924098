package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const inspector = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"

// arguments of those tools that need some.
var arguments = map[string][]string{
	"run_sql":     {"sql=select count(*) as n from events"},
	"query_fleet": {"action=overview"},
	"run_demo":    {"scenario=incident"},

	"fleet.cluster.run_analysis": {"sql=select count(*) as n from events"},
}

func (t *trial) inspectStdio(ctx context.Context) error {
	return t.inspect(ctx, nil, []string{t.ingero, "mcp", "--db", t.db})
}

func (t *trial) inspectHTTPS(ctx context.Context) error {
	const token = "a token of the test, and of nothing else"
	file := filepath.Join(t.dir, "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		return err
	}
	p, url, err := t.serve(ctx, "--token-file", file)
	if err != nil {
		return err
	}
	env := []string{"NODE_EXTRA_CA_CERTS=" + filepath.Join(t.dir, ".ingero", "mcp-cert.pem")}
	at := func(token string) []string {
		return []string{url, "--transport", "http", "--header", "Authorization: Bearer " + token}
	}
	err = t.inspect(ctx, env, at(token))
	if _, _, e := t.inspection(ctx, env, at("another token, which is wrong"), "tools/list"); e == nil {
		err = errors.Join(err, errors.New("a wrong token was taken"))
	}
	if _, _, e := t.inspection(ctx, nil, at(token), "tools/list"); e == nil {
		err = errors.Join(err, errors.New("the certificate was trusted without being known"))
	}
	return errors.Join(err, p.end())
}

func (t *trial) inspection(ctx context.Context, env, server []string, method string, more ...string) (string, string,
	error,
) {
	args := append([]string{"--cli"}, server...)
	return t.node(ctx, env, inspector, append(append(args, "--method", method), more...)...)
}

// inspect lists what there is and calls every tool.
func (t *trial) inspect(ctx context.Context, env, server []string) error {
	out, errs, err := t.inspection(ctx, env, server, "tools/list", "--strict")
	if err != nil {
		return fmt.Errorf("list the tools: %w\n%s", err, errs)
	}
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return fmt.Errorf("read the list of tools: %w", err)
	}
	if len(list.Tools) == 0 {
		return errors.New("no tools are listed")
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	all := t.callEach(ctx, env, server, names)
	for name := range arguments {
		if strings.HasPrefix(name, "fleet.") == (t.echo == "") { // of the other server
			continue
		}
		if !slices.Contains(names, name) {
			all = errors.Join(all, fmt.Errorf("%s is not listed", name))
		}
	}
	fmt.Printf("    called %d tools: %s\n", len(names), strings.Join(names, " "))
	for _, method := range []string{"prompts/list", "resources/list"} {
		if _, errs, err := t.inspection(ctx, env, server, method); err != nil {
			all = errors.Join(all, fmt.Errorf("%s: %w\n%s", method, err, errs))
		}
	}
	return all
}

// callEach calls tools, two at a time: most of a call is the start of the inspector.
func (t *trial) callEach(ctx context.Context, env, server, tools []string) error {
	var callers sync.WaitGroup
	next := make(chan int)
	failed := make([]error, len(tools))
	for range 2 {
		callers.Go(func() {
			for i := range next {
				if err := t.call(ctx, env, server, tools[i]); err != nil {
					failed[i] = fmt.Errorf("%s: %w", tools[i], err)
				}
			}
		})
	}
	for i := range tools {
		next <- i
	}
	close(next)
	callers.Wait()
	return errors.Join(failed...)
}

func (t *trial) call(ctx context.Context, env, server []string, tool string) error {
	args := []string{"--tool-name", tool}
	for _, a := range arguments[tool] {
		args = append(args, "--tool-arg", a)
	}
	out, errs, err := t.inspection(ctx, env, server, "tools/call", args...)
	if err != nil {
		return fmt.Errorf("%w\n%s%s", err, out, errs)
	}
	var result struct {
		IsError           bool
		StructuredContent map[string]any
	}
	switch err := json.Unmarshal([]byte(out), &result); {
	case err != nil:
		return err
	case result.IsError || len(result.StructuredContent) == 0:
		return fmt.Errorf("no answer: %s", out)
	}
	return nil
}
