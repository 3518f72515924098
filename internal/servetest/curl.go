package servetest

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// requireCurl is the environment variable with which a test fails that has no curl.
const requireCurl = "INGERO_REQUIRE_CURL"

// NeedCurl skips a test without the program curl, or fails it if INGERO_REQUIRE_CURL is set.
func NeedCurl(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err == nil {
		return
	}
	if os.Getenv(requireCurl) != "" {
		t.Fatal(requireCurl + " is set, and there is no curl")
	}
	t.Skip("there is no curl: apt-get install curl")
}

// Curl asks with the program curl, and returns the answer's status, header and body. The error is curl's own: there was
// no answer.
func Curl(t testing.TB, args ...string) (code int, header http.Header, body string, err error) {
	t.Helper()
	args = append([]string{"--http1.1", "--silent", "--show-error", "--include", "--raw", "--max-time", "30"}, args...)
	out, err := exec.CommandContext(t.Context(), "curl", args...).Output()
	if err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			err = errors.New(strings.TrimSpace(string(e.Stderr)))
		}
		return 0, nil, "", err
	}
	r, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(out))), nil)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r.StatusCode, r.Header, string(b), nil
}
