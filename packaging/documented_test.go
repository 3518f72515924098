package packaging_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// documentedLine is one of a document, and who runs it.
type documentedLine struct {
	heading string
	line    string // as root runs it; empty: all others
	by      string // the test
	not     string // why there is none
}

// documented says which test runs the lines of shell in documents. One in Go takes them from the document, by the
// heading, and fails if there are others; a script has them in the same words.
var documented = []documentedLine{
	{heading: "## By install.sh", by: "install_machine_test.go"},
	{heading: "## As a container", by: "image_test.go"},
	{heading: "## Without a network", by: "isolated_test.go"},

	{
		"## Tracing without root", "groupadd --force --system ingero",
		"", "../cmd/ingero/privilege_test.go does so with copies and a user of its own",
	},
	{
		"## Tracing without root", "cp /usr/bin/ingero /usr/local/bin/ingero",
		"", "../cmd/ingero/privilege_test.go does so with copies and a user of its own",
	},
	{
		"## Tracing without root", "chown root:ingero /usr/local/bin/ingero",
		"", "../cmd/ingero/privilege_test.go does so with copies and a user of its own",
	},
	{
		"## Tracing without root", "chmod 750 /usr/local/bin/ingero",
		"", "../cmd/ingero/privilege_test.go does so with copies and a user of its own",
	},
	{
		"## Tracing without root", "setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep /usr/local/bin/ingero",
		"", "../cmd/ingero/privilege_test.go does so with copies and a user of its own",
	},
	{
		"## Tracing without root", "usermod -aG ingero alice",
		"", "../cmd/ingero/privilege_test.go does so with copies and a user of its own",
	},
	{"## As a container", "docker load -i ingero_*_image.tar", "", "needs Docker's daemon; image_test.go imports it"},
	{
		"## As a container",
		`docker run --rm -it --pid=host --read-only --cap-drop ALL --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE \`,
		"", "needs Docker's daemon; image_test.go compares it with containerd's command",
	},
	{
		"## As a container",
		`--cap-add DAC_READ_SEARCH -v /var/lib/ingero:/var/lib/ingero ghcr.io/ingero-io/ingero:VERSION \`,
		"", "the rest of the same line",
	},
	{"## As a container", "trace --db /var/lib/ingero/ingero.db", "", "the rest of the same line"},

	{"## As a package", "dpkg -i ingero_*_amd64.deb", "testdata/packages/remove.sh", ""},
	{"## As a package", "rpm -i ingero-[0-9]*.x86_64.rpm", "testdata/packages/rpm.sh", ""},
	{"## As a package", "ingero check", "testdata/packages/deb.sh", ""},
	{"## As a package", "systemctl enable --now ingero", "testdata/packages/deb.sh", ""},
	{"## As a package", "ingero explain", "testdata/packages/deb.sh", ""},
	{"## As a package", "dpkg -i ingero-echo_*_amd64.deb", "testdata/packages/echo.sh", ""},
	{"## As a package", "sudoedit /etc/ingero/echo.env", "", "an editor; testdata/packages/echo.sh appends the token"},
	{"## As a package", "systemctl enable --now ingero-echo", "testdata/packages/echo.sh", ""},

	{"## One host, with Compose", "make images", "", "builds for minutes; only a container engine could run the result"},
	{
		"## One host, with Compose", "docker load -i dist/ingero-fleet-collector_image.tar && docker load -i dist/ingero-echo_image.tar",
		"", "needs Docker's daemon",
	},
	{
		"## One host, with Compose", "(umask 077; for t in INGERO_FLEET_TOKEN INGERO_ECHO_TOKEN GRAFANA_PASSWORD; do",
		"compose_test.go", "",
	},
	{"## One host, with Compose", `echo "$t=$(openssl rand -hex 16)"; done >deploy/compose/.env)`, "compose_test.go", ""},
	{
		"## One host, with Compose", "docker compose -f deploy/compose/compose.yaml up -d --wait",
		"", "needs Docker's daemon; make test-compose reads the file with Compose's parser",
	},
	{"## One host, with Compose", ". deploy/compose/.env", "compose_test.go", ""},
	{
		"## One host, with Compose", `export INGERO_FLEET_TOKEN OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20$INGERO_FLEET_TOKEN"`,
		"compose_test.go", "",
	},
	{
		"## One host, with Compose",
		`--preserve-env=INGERO_FLEET_TOKEN,OTEL_EXPORTER_OTLP_HEADERS ingero trace --fleet http://127.0.0.1:4318 \`,
		"", "sends to the containers; what it sends is received in make test-fleet and make test-echo-live",
	},
	{
		"## One host, with Compose", "--cluster east --events --otlp grpc://127.0.0.1:4317 --prometheus :9090",
		"", "the rest of the same line",
	},
	{"## One host, with Compose", "straggler-sink", "", "reads the tracer's socket; isolated_test.go runs it at one of its own"},

	{"## Upgrade", "dpkg -i ingero-echo_*_amd64.deb", "testdata/packages/echo.sh", ""},
	{
		"## Upgrade", "dpkg -i ingero_*_amd64.deb", "",
		"testdata/packages/deb.sh has a file that was changed on both sides, with which it fails; echo.sh upgrades so",
	},
	{"## Upgrade", "dpkg --force-confdef --force-confold -i ingero_*_amd64.deb", "testdata/packages/deb.sh", ""},

	{"## From source", "make build && sudo install bin/ingero /usr/local/bin/", "", "changes this machine; .ci/run builds the same"},

	{
		"## For each job of Slurm", "cp prolog.sh /etc/slurm/ingero-prolog.sh && sudo cp epilog.sh /etc/slurm/ingero-epilog.sh",
		"testdata/packages/slurm.sh", "",
	},
	{"## For each job of Slurm", "cat /var/lib/ingero-jobs/4711.txt", "testdata/packages/slurm.sh", ""},
	{"## For each job of Slurm", "ingero explain /var/lib/ingero-jobs/4711.db", "testdata/packages/slurm.sh", ""},
	{
		"## For each job of Slurm",
		`ingero query /var/lib/ingero-jobs/4711.db "select distinct slurm_job, rank, name from processes where traced"`,
		"testdata/packages/slurm.sh", "",
	},
	{
		"## With torchrun", "ingero trace --out run.db -- torchrun --nproc-per-node 8 train.py",
		"", "needs PyTorch; make real traces ranks that torch.distributed.run starts",
	},
	{"## With torchrun", `ingero trace --out "$(hostname).db" --user "$USER"`, "", "the same; slurm_test.go has --user"},
	{
		"## With torchrun", "torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint gpu-01:29500 train.py",
		"", "needs PyTorch and two machines",
	},
	{"## With torchrun", "ingero merge gpu-01.db gpu-02.db -o run.db", "", "merges what the lines above recorded; docs/merge.md has it"},
	{"## With torchrun", "ingero explain run.db", "", "explains it"},
}

// documents are those whose lines these are.
var documents = []string{installDoc, "../docs/slurm.md"}

// Every line of shell in the documents is run by a test, or it is said why not.
func TestDocumentedCommandsAreRun(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, file := range documents {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("\n" + string(b))
	}
	used := make([]bool, len(documented))
	for part := range strings.SplitSeq(text.String(), "\n## ") {
		title, body, _ := strings.Cut(part, "\n")
		heading := "## " + title
		for _, line := range shellOf(body) {
			line = asRoot(line)
			is := func(want string) int {
				return slices.IndexFunc(documented, func(d documentedLine) bool {
					return d.heading == heading && d.line == want
				})
			}
			i := is(line)
			if i < 0 {
				i = is("")
			}
			if i < 0 {
				t.Errorf("below %q, no test is said to run: %s", heading, line)
				continue
			}
			used[i] = true
		}
	}
	for i, d := range documented {
		if !used[i] {
			t.Errorf("%q below %q is in no document", d.line, d.heading)
		}
		if (d.by == "") == (d.not == "") {
			t.Errorf("%q: either a test runs it, or there is a reason: %+v", d.line, d)
		}
		if d.by != "" && !runsIt(t, d.by, d.heading, d.line) {
			t.Errorf("%s does not run %q below %q", d.by, d.line, d.heading)
		}
	}
}

// before are words of testdata/packages/checks.sh that come before a command.
var before = regexp.MustCompile(`^(timed "[^"]*" \S+ |check "[^"]*" (soon )?)`)

// runsIt reports whether a test runs a line: a script has it, one in Go takes it from the document, by the heading that
// it is below.
func runsIt(t *testing.T, file, heading, line string) bool {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(file) == ".go" {
		return strings.Contains(string(b), ", installDoc, "+strconv.Quote(heading)+")")
	}
	line = strings.ReplaceAll(line, "sudo ", "")
	for l := range strings.Lines(string(b)) {
		l = before.ReplaceAllString(strings.TrimSpace(l), "")
		if l == line || strings.HasPrefix(l, line+" ") {
			return true
		}
	}
	return false
}

// Each script of the test of packages is run.
func TestScriptsOfPackagesAreRun(t *testing.T) {
	t.Parallel()
	all, err := filepath.Glob("testdata/packages/*.sh")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("testdata/packages/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(b), "\nfor script in ")
	list, _, _ = strings.Cut(list, ";")
	want := strings.Fields(list + " run checks")
	var got []string
	for _, file := range all {
		got = append(got, strings.TrimSuffix(filepath.Base(file), ".sh"))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("there are %q, and run.sh has %q", got, want)
	}
}
