package commands

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var errUsage = errors.New("usage")

// try runs a program that was told a version and a commit.
func try(args ...string) (string, error) {
	var out bytes.Buffer
	root := &cobra.Command{
		Use: "program", SilenceUsage: true, SilenceErrors: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return errors.New("it runs") },
	}
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs(args)
	Add(root, Of("1.2.3", "0123456789abcdef"), func(err error) error { return errors.Join(errUsage, err) })
	err := root.Execute()
	return out.String(), err
}

func TestVersion(t *testing.T) {
	t.Parallel()
	want := "program 1.2.3 (commit 0123456789ab, " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")\n"
	for _, args := range []string{"version", "--version"} {
		if got, err := try(args); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", args, got, err, want)
		}
	}
	out, err := try("version", "--json")
	var b Build
	if err := errors.Join(err, json.Unmarshal([]byte(out), &b)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if b != Of("1.2.3", "0123456789abcdef") || b.Schema != 1 || b.Commit != "0123456789abcdef" {
		t.Errorf("%+v", b)
	}
}

// What is wrong is the program's own kind of error.
func TestVersionTakesNoArguments(t *testing.T) {
	t.Parallel()
	out, err := try("version", "now")
	const want = "program version takes no arguments; see program version --help"
	if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), want) {
		t.Errorf("%q, %v", out, err)
	}
}

func TestABuildWithoutACommit(t *testing.T) {
	t.Parallel()
	if got := (Build{Version: Unset}).line("program"); !strings.HasPrefix(got, "program dev (commit unknown, ") {
		t.Error(got)
	}
}
