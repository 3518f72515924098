package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/lib/commands"
	"github.com/ingero-io/ingero/lib/config"
	"github.com/ingero-io/ingero/lib/smallfile"
	"github.com/ingero-io/ingero/serve/nodes"
)

// exitPartial is the exit code when some nodes answered and others did not.
const exitPartial = 3

// nodeFlags say which nodes to ask, and how. Values not given come from ingero.yaml.
type nodeFlags struct {
	config.Fleet
	file string // ingero.yaml
}

// addNodes adds the flags that name the nodes.
func (f *nodeFlags) addNodes(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringSliceVar(&f.Nodes, "nodes", nil,
		"query these nodes, where \"ingero dashboard\" runs (gpu-node-01:8080,gpu-node-02:8080; "+
			"default: the nodes in ingero.yaml)")
	fl.StringVar(&f.file, "config", "",
		"the configuration (default $"+config.Env+", else ./ingero.yaml, else /etc/ingero/ingero.yaml)")
	_ = cmd.MarkFlagFilename("config") // fails only for a flag that does not exist
}

// addFlags adds these and the flags for the connection.
func (f *nodeFlags) addFlags(cmd *cobra.Command) {
	f.addNodes(cmd)
	fl := cmd.Flags()
	fl.DurationVar(&f.Timeout, "timeout", 0, "how long a node may take to answer (default 10s)")
	fl.StringVar(&f.CACert, "ca-cert", "",
		"certificates that nodes may show or that signed them, as PEM (default ~/.ingero/nodes.pem if it exists)")
	fl.StringVar(&f.ClientCert, "client-cert", "", "certificate to show to the nodes, as PEM")
	fl.StringVar(&f.ClientKey, "client-key", "", "key of the certificate, as PEM")
	fl.StringVar(&f.TokenFile, "token-file", "",
		"file with the nodes' token (default $"+nodeService.tokenEnv+", else ~/.ingero/node-token if it exists)")
	fl.BoolVar(&f.NoTLS, "no-tls", false,
		"use HTTP without TLS; others on the network can then read the data and the token")
	for _, name := range []string{"ca-cert", "client-cert", "client-key", "token-file"} {
		_ = cmd.MarkFlagFilename(name) // fails only for a flag that does not exist
	}
}

// fleet returns the nodes to ask, nil to read a recording. Nodes of the configuration are asked
// unless a recording is named.
func (c *console) nodesClient(f *nodeFlags, cmd *cobra.Command, db string) (*nodes.Client, error) {
	c.config = f.file
	given := cmd.Flags().Changed("nodes")
	if given && db != "" {
		return nil, usage("give --nodes or the local recording %s, not both", db)
	}
	recording := db != "" || c.env(databaseEnv) != ""
	if recording && !given {
		return nil, f.unused(cmd)
	}
	conf, err := config.Find(f.file, c.env)
	if err != nil {
		return nil, err
	}
	f.merge(&conf.Fleet)
	if len(f.Nodes) == 0 {
		return nil, cmp.Or(f.unused(cmd), notEmpty(given))
	}
	fl, err := c.newNodesClient(f)
	if err == nil && !given {
		fmt.Fprintf(c.err, "ingero: querying the %d node(s) in %s; for a local recording, pass --db FILE\n", len(f.Nodes),
			conf.Path)
	}
	return fl, err
}

// nodesClientOf returns the nodes to ask besides a recording, nil for none.
func (c *console) nodesClientOf(f *nodeFlags) (*nodes.Client, error) {
	c.config = f.file
	conf, err := config.Find(f.file, c.env)
	if err != nil {
		return nil, err
	}
	f.merge(&conf.Fleet)
	if len(f.Nodes) == 0 {
		return nil, nil
	}
	return c.newNodesClient(f)
}

func notEmpty(given bool) error {
	if given {
		return usage("--nodes is empty; write for example --nodes gpu-node-01:8080,gpu-node-02:8080")
	}
	return nil
}

// unused refuses connection flags when no nodes are asked.
func (f *nodeFlags) unused(cmd *cobra.Command) error {
	for _, name := range []string{"timeout", "ca-cert", "client-cert", "client-key", "token-file", "no-tls"} {
		if cmd.Flags().Changed(name) {
			return usage("--%s needs --nodes; see %s --help", name, cmd.CommandPath())
		}
	}
	return nil
}

// merge fills in values of the configuration that have no flag.
func (f *nodeFlags) merge(c *config.Fleet) {
	if len(f.Nodes) == 0 {
		f.Nodes = c.Nodes
	}
	f.Timeout = cmp.Or(f.Timeout, c.Timeout)
	f.MaxClockOffset = cmp.Or(f.MaxClockOffset, c.MaxClockOffset)
	f.CACert, f.TokenFile = cmp.Or(f.CACert, c.CACert), cmp.Or(f.TokenFile, c.TokenFile)
	if f.ClientCert == "" && f.ClientKey == "" {
		f.ClientCert, f.ClientKey = c.ClientCert, c.ClientKey
	}
	f.NoTLS = f.NoTLS || c.NoTLS
}

func (c *console) newNodesClient(f *nodeFlags) (*nodes.Client, error) {
	if f.Timeout < 0 {
		return nil, usage("--timeout %s is negative", f.Timeout)
	}
	conf := nodes.Config{Nodes: f.Nodes, Timeout: f.Timeout, MaxOffset: f.MaxClockOffset, Now: time.Now}
	if err := conf.Validate(); err != nil {
		return nil, commands.UsageError{Err: err}
	}
	var err error
	if conf.Token, _, err = c.serviceToken(&listenAddress{service: nodeService, tokenFile: f.TokenFile}); err != nil {
		return nil, err
	}
	if !f.NoTLS {
		if conf.TLS, err = c.nodesTLS(f); err != nil {
			return nil, err
		}
	} else if f.ClientCert != "" || f.CACert != "" {
		return nil, usage("--no-tls contradicts --ca-cert and --client-cert; leave one out")
	}
	return nodes.New(conf)
}

// nodesTLS is the TLS configuration: trusted certificates and our own.
func (c *console) nodesTLS(f *nodeFlags) (*tls.Config, error) {
	if (f.ClientCert == "") != (f.ClientKey == "") {
		return nil, usage("--client-cert and --client-key belong together; give both")
	}
	t := &tls.Config{MinVersion: tls.VersionTLS13}
	if f.ClientCert != "" {
		pair, err := smallfile.KeyPair(f.ClientCert, f.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("read the certificate %s with the key %s: %w", f.ClientCert, f.ClientKey, err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	var err error
	if f.CACert != "" {
		t.RootCAs, err = readCertificates(f.CACert)
		return t, err
	}
	t.RootCAs, err = c.knownNodes()
	return t, err
}

// knownNodes are the certificates trusted by the system, those of nodes.pem, and this machine's
// own.
func (c *console) knownNodes() (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // the system may have none
	}
	o, err := c.owner()
	if err != nil {
		return pool, nil //nolint:nilerr // without a home there are no files in it
	}
	for _, name := range []string{"nodes.pem", nodeService.name + "-cert.pem"} {
		b, err := smallfile.Read(filepath.Join(o.folder(), name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the nodes' certificates: %w; or pass --ca-cert FILE", err)
		}
		pool.AppendCertsFromPEM(b)
	}
	return pool, nil
}

// reportProblems writes warnings to stderr. It returns exit code exitPartial if nodes did not answer.
func (c *console) reportProblems(h *nodes.Coverage) error {
	for _, line := range h.Problems() {
		fmt.Fprintln(c.err, "ingero: warning:", line)
	}
	if h.Partial() {
		return commands.ExitCode(exitPartial)
	}
	return nil
}

// queryNodes asks nodes with SQL.
func (c *console) queryNodes(ctx context.Context, fl *nodes.Client, f *queryFlags, sql string, write rowWriter) error {
	defer fl.Close()
	t, err := fl.Query(ctx, sql, f.limit)
	if err != nil {
		return err
	}
	if err := write(c, &tableRows{table: t}); err != nil {
		return err
	}
	if f.format == "table" {
		fmt.Fprintf(c.out, "\n  %d rows from %d node(s)\n", len(t.Rows), t.Answered())
	}
	for _, n := range t.Notes {
		fmt.Fprintf(c.err, "ingero: note: %s\n", n.Text)
	}
	if t.Truncated {
		fmt.Fprintf(c.err, "ingero: there is more: %d rows are shown; narrow it with where, or raise --limit\n", len(t.Rows))
	}
	return c.reportProblems(&t.Coverage)
}

// tableRows are the rows of a table, one after the other.
type tableRows struct {
	table *nodes.Table
	at    int // index of the next row
}

func (t *tableRows) Columns() []string { return t.table.Columns }
func (t *tableRows) Values() []any     { return t.table.Rows[t.at-1] }
func (t *tableRows) Err() error        { return nil }

func (t *tableRows) Next() bool {
	t.at = min(t.at+1, len(t.table.Rows)+1)
	return t.at <= len(t.table.Rows)
}

// explainNodes asks nodes why their GPUs wait.
func (c *console) explainNodes(ctx context.Context, fl *nodes.Client, f *explainFlags) error {
	defer fl.Close()
	e, err := fl.Explain(ctx, nodes.Scope{Since: f.window.Since, From: f.window.From, To: f.window.To})
	if err != nil {
		return err
	}
	if f.asJSON {
		err = commands.WriteJSON(c.out, e)
	} else {
		err = e.WriteText(c.out)
	}
	if err != nil {
		return err
	}
	return c.reportProblems(&e.Coverage)
}
