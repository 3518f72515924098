package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// echoTrial has the suite and the inspector try "ingero-echo demo".
func (t *trial) echoTrial(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, t.echo, "demo", "--mcp-addr", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "TMPDIR="+t.dir)
	var errs limited
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	url := ""
	for in := bufio.NewScanner(out); url == "" && in.Scan(); {
		if strings.Contains(in.Text(), "/mcp") {
			url = addressLine.FindString(in.Text())
		}
	}
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		_, _ = io.Copy(io.Discard, out) // it ends when the program does
	}()
	if url == "" {
		err = errors.New("the server did not start")
	} else {
		err = errors.Join(t.suite(ctx, url, "--expected-failures", t.expected),
			t.inspect(ctx, nil, []string{url, "--transport", "http"}))
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	<-rest
	if e := cmd.Wait(); e != nil {
		err = errors.Join(err, fmt.Errorf("%w: %s", e, errs))
	}
	return err
}
