package commands

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

// ends runs a function as a program, and returns its exit code and what it wrote.
func ends(debug string, f func() error) (code int, errs string) {
	var b bytes.Buffer
	p := Program{
		Name: "program", Err: &b, Env: func(string) string { return debug },
		Hint: func(err error) string {
			if errors.Is(err, os.ErrPermission) {
				return "next: ask"
			}
			return ""
		},
	}
	code = p.Run(f)
	return code, b.String()
}

func TestProgramEndsWithACodeAndItsReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
		errs string
	}{
		{nil, 0, ""},
		{fmt.Errorf("write: %w", syscall.EPIPE), 0, ""},
		{ExitCode(7), 7, ""},
		{errors.New("no\x1b[2J"), ExitFailure, "program: no\\x1b[2J\n"},
		{fmt.Errorf("open: %w", os.ErrPermission), ExitFailure, "program: open: permission denied\nnext: ask\n"},
		{fmt.Errorf("read: %w", Usage("--%s is wrong", "x")), ExitUsage, "program: read: --x is wrong\n"},
	} {
		if code, errs := ends("", func() error { return c.err }); code != c.code || errs != c.errs {
			t.Errorf("%v: code %d, %q", c.err, code, errs)
		}
	}
}

func TestInternalErrorAsksForAReport(t *testing.T) {
	t.Parallel()
	for debug, stack := range map[string]bool{"": false, "1": true} {
		code, errs := ends(debug, func() error { panic("nothing there") })
		if code != ExitFailure || !strings.HasPrefix(errs, "program: internal error: nothing there; please report it") ||
			strings.Contains(errs, "program_test.go") != stack {
			t.Errorf("with %q: code %d, %s", debug, code, errs)
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"mesure":          `there is no command "mesure"; did you mean measure?; see my program --help`,
		"measure a":       "my program measure takes no arguments, not 1 arguments; see my program measure --help",
		"measure --colou": "unknown flag: --colou; see my program measure --help",
		"version now":     "my program version takes no arguments; see my program version --help",
	} {
		root := &cobra.Command{
			Use: "my-program", Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "my program"},
			RunE: func(*cobra.Command, []string) error { return nil },
		}
		root.AddCommand(&cobra.Command{
			Use: "measure", Args: Arguments(0, 0, "no arguments"), RunE: func(*cobra.Command, []string) error { return nil },
		})
		var out bytes.Buffer
		Prepare(root, Of("1", "2"), &out, &out)
		root.SetArgs(strings.Fields(line))
		if err := root.Execute(); err == nil || err.Error() != want || !errors.As(err, new(UsageError)) {
			t.Errorf("%s: %v", line, err)
		}
		if out.Len() > 0 {
			t.Errorf("%s: printed %q", line, out.String())
		}
	}
}

// The folder of the running program is first, as that is where those of the same version are.
func TestProgramsAreFoundBesideThisOneAndInThePath(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got := Beside(filepath.Base(self)); got != self {
		t.Errorf("this program is at %s, not %s", self, got)
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if got, want := Beside("another"), filepath.Join(filepath.Dir(self), "another"); got != want {
		t.Errorf("a program that is not there: %s, not %s", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "another"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, want := Beside("another"), filepath.Join(dir, "another"); got != want {
		t.Errorf("in the path: %s, not %s", got, want)
	}
}

func TestOutputThatIsNoTerminal(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := NewProgress(&b, func(string) string { return "" })
	p.Show("1 of 2")
	p.Show("2 of 2")
	p.End()
	if err := WriteJSON(&b, map[string]string{"a": "<\x1b>"}); err != nil {
		t.Fatal(err)
	}
	if want := "1 of 2\n2 of 2\n{\n  \"a\": \"<\\u001b>\"\n}\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
}
