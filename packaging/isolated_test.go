package packaging_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/internal/kerneltest"
)

// step is a line of shell that must succeed, and what it prints.
type step struct {
	line string
	has  []string
}

// Functions for the steps: serve starts a server in the background, end stops it with SIGINT, and soon repeats a
// command until it succeeds, for two minutes at most.
const prelude = `set -eu
serve() { "$@" >"$W/server.out" 2>&1 & server=$!; }
end() { kill -INT $server; wait $server || { cat "$W/server.out"; return 1; }; }
soon() { for _ in $(seq 600); do if "$@" >"$W/soon.out" 2>&1; then return; fi; sleep 0.2; done; cat "$W/soon.out"; return 1; }
trap '[ -z "${server:-}" ] || kill -KILL $server 2>/dev/null || true' EXIT
`

// Nobody is at 192.0.2.0/24, and no name ends in .example.
const (
	nobody     = "192.0.2.1:4317"
	nameServer = "192.0.2.53:53"
	traceFor   = "ingero trace --record=false --user nobody --duration 3s "
	workload   = "env LD_LIBRARY_PATH=$STANDIN/lib $STANDIN/victim loop --seconds 4"
)

// isolated are the steps: install, use, upgrade and remove. doc has the commands of docs/install.md; readme those of
// the README.md in the bundle.
func isolated(doc, readme []string) []step {
	return []step{
		{`ip link set lo up
mount -t tmpfs tmpfs /usr/local/bin
mount --bind "$W/resolv.conf" /etc/resolv.conf
ip route | grep . && exit 1
curl -s http://192.0.2.1/ || echo "curl: $?"`, []string{"curl: 7"}},
		{doc[0], nil},

		// Install, over an earlier version.
		{doc[1] + " && " + readme[0], nil},
		{"sh install.sh --from $W/older --all && ingero", []string{"installed: /usr/local/bin/ingero 0.0.0~0\n", "next: ingero check\n0.0.0~0\n"}},
		{doc[2] + " | tee $W/install.out", []string{
			"installed: /usr/local/bin/ingero $VERSION (replaced)", "/straggler-sink $VERSION (replaced)", "checked: SHA-256",
		}},
		{doc[3], nil},
		{"for p in ingero ingero-fleet straggler-sink ingero-echo; do $p version; done", []string{
			"ingero $VERSION (commit $COMMIT", "ingero-fleet $VERSION (commit $COMMIT", "straggler-sink $VERSION (commit $COMMIT",
			"ingero-echo $VERSION (commit $COMMIT",
		}},
		{doc[4], []string{"next: "}},
		{"$HELM template ingero ingero-chart-*.tgz --namespace ingero", []string{`image: "ghcr.io/ingero-io/ingero:`}},

		// Use it without telling it to connect.
		{"ingero trace --out $W/run.db -- " + workload, []string{"recorded to"}},
		{"ingero explain $W/run.db", []string{"trainer"}},
		{`ingero query $W/run.db "select count(*) > 0 as called from cuda_events"`, []string{"called\n------\n     1"}},
		{"ingero export $W/run.db -o $W/run.pftrace && test -s $W/run.pftrace", nil},
		{`echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"test","version":"1"}}}' | ingero mcp --db $W/run.db`, []string{`"result":{"capabilities"`}},
		{"serve ingero dashboard $W/run.db --no-tls; soon curl -sf 127.0.0.1:8080/; end", nil},
		{"ingero demo healthy --seconds 3", nil},
		{"setpriv --reuid=65534 --regid=65534 --clear-groups ingero demo incident", []string{"Replaying a trace recorded earlier"}},
		{"ingero trace --out $W/served.db --duration 3s --prometheus 127.0.0.1:9090 --dashboard 127.0.0.1:8080 " +
			"--mcp 127.0.0.1:8443 --annotate=$W/labels.sock", nil},
		{"serve ingero-fleet serve; soon grep 'agents are answered' $W/server.out; sleep 2; end", nil},
		{"serve straggler-sink --socket-path $W/straggler.sock; soon curl -sf 127.0.0.1:9464/healthz; end", nil},
		{doc[5], nil},
		{doc[6], []string{"remote_port"}},

		// Tell it to connect: to a server, to nobody, to a name.
		{"serve ingero-fleet serve; soon ingero fleet status --fleet 127.0.0.1:4318; end", nil},
		{`serve ingero-echo serve --db-path $W/echo.db
soon curl -sf 127.0.0.1:8080/readyz
ingero trace --record=false --otlp grpc://127.0.0.1:4317 -- ` + workload + `
ask() { curl -sf -d '{"sql":"select count(*) > 0 from events"}' http://127.0.0.1:8081/api/v1/sql | grep -q true; }
soon ask
end`, nil},
		{traceFor + "--otlp grpc://" + nobody, []string{"cannot send"}},
		{`! ingero query --nodes gpu-1.example:8080 "select 1"`, []string{"its name cannot be resolved"}},
		{`cp /bin/bash $W/impostor; echo ': >/dev/tcp/192.0.2.9/80' | $W/impostor || true`, []string{"unreachable"}},

		// Upgrade while it records.
		{`serve ingero trace --out $W/long.db
soon test -s $W/long.db
` + readme[1] + `
kill -0 $server
end
` + readme[2] + `
ingero explain $W/run.db`, []string{"/usr/local/bin/ingero $VERSION (replaced)", "trainer"}},

		// Remove.
		{`sed -n 's/^to undo: //p' $W/install.out | sh
rm /usr/local/bin/ingero-echo
! find /usr/local/bin $W/tmp -mindepth 1 | grep .`, nil},
	}
}

// Everything that the documents say about a machine without a network works in a network namespace without routes, and
// no program opens a connection that it was not told to open. A tracer of its own saw what they did.
func TestBundleWithoutANetwork(t *testing.T) {
	file, folder := bundle(t)
	kerneltest.Require(t)
	for _, program := range []string{"ip", "curl", "setpriv", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatal(err)
		}
	}
	w := workplace(t, file)
	db := filepath.Join(w, "seen.db")
	doc := section(t, installDoc, "## Without a network")
	for i := range doc {
		doc[i] = strings.ReplaceAll(doc[i], "linux_amd64", "linux_"+runtime.GOARCH)
	}
	readme := commands(t, "bundle.md")
	steps := isolated(doc, readme)
	for _, line := range append(doc, readme...) {
		if !slices.ContainsFunc(steps, func(s step) bool { return strings.Contains(s.line, line) }) {
			t.Errorf("%s is in a document, and is not run", line)
		}
	}

	values := map[string]string{
		"W": w, "VERSION": strings.TrimSuffix(strings.TrimPrefix(folder, "ingero_"), "_bundle"),
		"COMMIT": commitOf(t, file), "HELM": os.Getenv(helmEnv),
		"STANDIN": run(t, ".", "realpath", "../internal/cudastub/prebuilt/linux_"+runtime.GOARCH),
	}
	perform(t, w, folder, db, steps, values)
	if t.Failed() {
		return
	}

	rows := answer[socket](t, w, db, sockets)
	bad, told, listening := judge(rows)
	t.Logf("%d sockets; told to connect: %q; listening: %q", len(rows), told, listening)
	// The C library may ask for names of users, by a socket of its own.
	bad = slices.DeleteFunc(bad, func(what string) bool { return what == "impostor /var/run/nscd/socket" })
	if want := []string{"impostor 192.0.2.9:80"}; !slices.Equal(bad, want) {
		t.Errorf("not told to connect or to listen: %q, want %q", bad, want)
	}
	if want := []string{
		"ingero 127.0.0.1:4317", "ingero 127.0.0.1:4318", "ingero " + nobody, "ingero " + nameServer,
		"straggler-sink " + w + "/straggler.sock",
	}; !slices.Equal(told, want) {
		t.Errorf("told to connect: %q, want %q", told, want)
	}
	for _, want := range []string{
		"ingero 8080", "ingero 8443", "ingero 9090", "ingero-echo 4317", "ingero-echo 4318", "ingero-echo 8080",
		"ingero-echo 8081", "ingero-fleet 4318", "straggler-sink 9464",
	} {
		if !slices.Contains(listening, want) {
			t.Errorf("%s was not seen", want)
		}
	}
	if lost := answer[struct{ N uint64 }](t, w, db, "select coalesce(sum(count), 0) as n from losses where kind = 'footprint'"); lost[0].N != 0 {
		t.Errorf("%d records of the witness are missing", lost[0].N)
	}
}

// workplace has what the steps need beside the bundle: a release of an earlier version, and another tracer.
func workplace(t *testing.T, file string) string {
	t.Helper()
	w := t.TempDir()
	older := newRelease(t, "0.0.0~0")
	for _, err := range []error{
		os.Chmod(filepath.Dir(w), 0o755), // one step is somebody else's
		os.Symlink(file, filepath.Join(w, filepath.Base(file))),
		os.Symlink(older.dir, filepath.Join(w, "older")),
		os.MkdirAll(filepath.Join(w, "home"), 0o755), os.MkdirAll(filepath.Join(w, "tmp"), 0o755),
		os.Chmod(filepath.Join(w, "tmp"), 0o777),
		os.WriteFile(filepath.Join(w, "resolv.conf"), []byte("nameserver 192.0.2.53\noptions attempts:1\n"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	run(t, w, "sh", "-c", "tar -xOf "+filepath.Base(file)+" --wildcards '*/ingero_*_linux_"+runtime.GOARCH+
		".tar.gz' | tar -xzf - ingero && mv ingero witness")
	return w
}

// commitOf is how the commit begins that the bundle's provenance names.
func commitOf(t *testing.T, file string) string {
	t.Helper()
	text := run(t, ".", "tar", "-xOf", file, "--wildcards", "*.provenance.json")
	found := regexp.MustCompile(`"gitCommit": "([0-9a-f]{12})`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no commit in %s", text)
	}
	return found[1]
}

// perform runs the steps as children of the witness.
func perform(t *testing.T, w, folder, db string, steps []step, values map[string]string) {
	t.Helper()
	var all strings.Builder
	fmt.Fprintf(&all, "cd %s\n", w)
	for i, s := range steps {
		name := fmt.Sprintf("%s/%d", w, i)
		if err := os.WriteFile(name+".sh", []byte(prelude+s.line+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		// The folder of the bundle is there after it is unpacked.
		fmt.Fprintf(&all, "sh %s.sh >%[1]s.out 2>&1 </dev/null || { echo $? >%[1]s.failed; exit 0; }\n[ ! -d %s ] || cd %[2]s\n", name, filepath.Join(w, folder))
	}
	script := filepath.Join(w, "all.sh")
	if err := os.WriteFile(script, []byte(all.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, filepath.Join(w, "witness"), "trace", "--footprint", "--out", db, "--", "sh", script)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + w + "/home", "TMPDIR=" + w + "/tmp"}
	for name, value := range values {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the witness: %v: %s", err, out)
	}
	for i, s := range steps {
		name := fmt.Sprintf("%s/%d", w, i)
		out, err := os.ReadFile(name + ".out")
		if code, failed := os.ReadFile(name + ".failed"); failed == nil || err != nil {
			t.Fatalf("$ %s\n%s%v: exit code %s", s.line, out, err, code)
		}
		t.Logf("$ %s\n%.600s", s.line, out)
		for _, want := range s.has {
			has(t, string(out), os.Expand(want, func(name string) string { return values[name] }))
		}
	}
}

// answer asks a recording.
func answer[row any](t *testing.T, w, db, sql string) (rows []row) {
	t.Helper()
	out := run(t, w, filepath.Join(w, "witness"), "query", "--format", "json", "--limit", "0", db, sql)
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return rows
}
