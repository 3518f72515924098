package packaging_test

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write what the chart renders into testdata/helm and deploy/kubernetes")

const (
	chart = "../deploy/helm/ingero"
	// helmEnv names the program helm.
	helmEnv = "INGERO_HELM"
)

func helmPath(t *testing.T) string {
	t.Helper()
	h := os.Getenv(helmEnv)
	if h == "" {
		t.Skip("make test-helm runs it, with the helm that it builds")
	}
	return h
}

// render is what helm makes of the chart.
func render(t *testing.T, args ...string) string {
	t.Helper()
	return run(t, ".", helmPath(t), append([]string{"template", "ingero", chart, "--namespace", "ingero"}, args...)...) + "\n"
}

// refused is what helm says of values with which it renders nothing.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(helmPath(t), append([]string{"template", "ingero", chart, "--namespace", "ingero"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if out, err := cmd.Output(); err == nil {
		t.Errorf("%s: rendered %d bytes", strings.Join(args, " "), len(out))
	}
	return stderr.String()
}

// TestValuesOfEarlierChartsAreAccepted: an upgrade takes the values that users have. When a key of values.yaml changes,
// the file before is kept in another folder of testdata/values.
func TestValuesOfEarlierChartsAreAccepted(t *testing.T) {
	files, err := filepath.Glob("testdata/values/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q %v", files, err)
	}
	for _, file := range files {
		has(t, render(t, "--values", file), "kind: DaemonSet")
	}
}

// TestWhatIsInstalledIsKept: the values and the configuration of today are those of the newest kept folder, so that
// the tests of upgrades have them when they change.
func TestWhatIsInstalledIsKept(t *testing.T) {
	t.Parallel()
	values, etc := newest(t, "testdata/values"), newest(t, "testdata/etc")
	var now, kept any // comments are nothing to helm
	for file, into := range map[string]*any{filepath.Join(chart, "values.yaml"): &now, filepath.Join(values, "default.yaml"): &kept} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(b, into); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(kept, now); diff != "" {
		t.Errorf("copy deploy/helm/ingero/values.yaml to default.yaml in a new folder beside packaging/%s: it has other values now:\n%s",
			values, diff)
	}
	if diff := cmp.Diff(texts(t, etc), texts(t, "etc")); diff != "" {
		t.Errorf("copy packaging/etc to a new folder beside packaging/%s: it is another one now:\n%s", etc, diff)
	}
}

// newest is the folder with the highest number.
func newest(t *testing.T, dir string) string {
	t.Helper()
	folders, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	highest := 0
	for _, f := range folders {
		n, err := strconv.Atoi(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		highest = max(highest, n)
	}
	return filepath.Join(dir, strconv.Itoa(highest))
}

// texts are the files of a folder.
func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range files(t, dir) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(b)
	}
	return all
}

// TestTheChartIsPacked: what a release has installs images of its own tag, and is the same each time.
func TestTheChartIsPacked(t *testing.T) {
	helm, err := filepath.Abs(helmPath(t))
	if err != nil {
		t.Fatal(err)
	}
	const tag = "1.2.3-20260102.g00c3a89f30fc" // as packaging/release makes it of a snapshot's version
	var packed [2][]byte
	folder := t.TempDir()
	for i := range packed {
		cmd := exec.Command("packaging/chart", tag, folder)
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(helm)+":"+os.Getenv("PATH"),
			fmt.Sprintf("SOURCE_DATE_EPOCH=%d", 1_700_000_000))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if packed[i], err = os.ReadFile(filepath.Join(folder, "ingero-chart-"+tag+".tgz")); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(packed[0], packed[1]) {
		t.Error("it is packed differently each time")
	}
	out := run(t, ".", helm, "template", "ingero", filepath.Join(folder, "ingero-chart-"+tag+".tgz"))
	has(t, out, `image: "ghcr.io/ingero-io/ingero:`+tag+`"`, "helm.sh/chart: ingero-"+tag)
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("in the folder: %v %v", left, err)
	}
}

// TestTheChartSaysWhatIsNext: after it was installed, also if no node has the label. Helm renders notes only with a
// cluster, so they are put into an object here.
func TestTheChartSaysWhatIsNext(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "ingero")
	if err := os.CopyFS(copied, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(copied, "templates/NOTES.txt"), filepath.Join(copied, "notes")); err != nil {
		t.Fatal(err)
	}
	const object = "kind: Notes\ntext: {{ tpl (.Files.Get \"notes\") . | quote }}\n"
	if err := os.WriteFile(filepath.Join(copied, "templates/notes.yaml"), []byte(object), 0o600); err != nil {
		t.Fatal(err)
	}
	notes := func(values ...string) string {
		args := []string{"template", "ingero", copied, "--namespace", "ingero", "--show-only", "templates/notes.yaml"}
		for _, v := range values {
			args = append(args, "--set", v)
		}
		var o struct{ Text string }
		if err := yaml.Unmarshal([]byte(run(t, ".", helmPath(t), args...)), &o); err != nil {
			t.Fatal(err)
		}
		return o.Text
	}
	has(t, notes(), "exec daemonset/ingero -c trace -- ingero explain", "kubectl label node NODE nvidia.com/gpu.present=true")
	everywhere := notes("agent.nodeSelector=null")
	has(t, everywhere, "Ingero records on each node that there is")
	if strings.Contains(everywhere, "label") {
		t.Errorf("a label that is not needed:\n%s", everywhere)
	}
	has(t, notes("agent.enabled=false", "fleet.enabled=true"), "rollout status statefulset/ingero-fleet")
	has(t, notes("agent.enabled=false", "echo.enabled=true"), "rollout status statefulset/ingero-echo")
}

// object is a Kubernetes object, as it is in a manifest.
type object map[string]any

// at is what lies at a path of keys and, in lists, of names; nil if there is nothing.
func (o object) at(path ...string) any {
	var v any = map[string]any(o)
	for _, key := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i := slices.IndexFunc(x, func(e any) bool { m, _ := e.(map[string]any); return m["name"] == key })
			if i < 0 {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// objects are those of manifests, by kind and name.
func objects(t *testing.T, manifests string) map[string]object {
	t.Helper()
	all := map[string]object{}
	d := yaml.NewDecoder(strings.NewReader(manifests))
	for {
		var m map[string]any
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if m == nil {
			continue
		}
		o := object(m)
		name := fmt.Sprint(o["kind"], "/", o.at("metadata", "name"))
		if all[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		if o.at("metadata", "namespace") != "ingero" && o["kind"] != "Namespace" {
			t.Errorf("%s is in no namespace", name)
		}
		all[name] = o
	}
}

// golden compares a text with a file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == got {
		return
	}
	a, b := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("%s:%d is %q, rendered %q; go test ./packaging -update writes it", file, i+1, a[i], b[i])
		}
	}
	t.Fatalf("%s has %d lines, rendered %d; go test ./packaging -update writes it", file, len(a), len(b))
}

func TestChartIsLinted(t *testing.T) {
	values, err := filepath.Glob("testdata/helm/*.values.yaml")
	if err != nil || len(values) == 0 {
		t.Fatalf("%v, %v", values, err)
	}
	for _, v := range values {
		out := run(t, ".", helmPath(t), "lint", "--strict", "--quiet", "--values", v, chart)
		if strings.Contains(out, "[WARNING]") || strings.Contains(out, "[ERROR]") {
			t.Errorf("%s: %s", v, out)
		}
	}
}

func TestChartRenders(t *testing.T) {
	values, err := filepath.Glob("testdata/helm/*.values.yaml")
	if err != nil || len(values) == 0 {
		t.Fatalf("%v, %v", values, err)
	}
	for _, v := range values {
		t.Run(strings.TrimSuffix(filepath.Base(v), ".values.yaml"), func(t *testing.T) {
			got := render(t, "--values", v)
			golden(t, strings.TrimSuffix(v, ".values.yaml")+".golden.yaml", got)
			objects(t, got)
			if strings.Contains(got, " \n") {
				t.Error("a line ends with a space")
			}
		})
	}
}

// What is not asked for is off.
func TestChartAlone(t *testing.T) {
	all := objects(t, render(t))
	if len(all) != 2 || all["ServiceAccount/ingero"] == nil {
		t.Errorf("%d objects: %v", len(all), all)
	}
	pod := object(all["DaemonSet/ingero"].at("spec", "template", "spec").(map[string]any))
	if containers := pod["containers"].([]any); len(containers) != 1 {
		t.Errorf("%d containers", len(containers))
	}
	if pod.at("containers", "trace", "ports") != nil {
		t.Error("a port is open")
	}
}

// No container is privileged, and only the tracer has capabilities: the four that tracing needs.
func TestRightsOfContainers(t *testing.T) {
	for name, o := range objects(t, render(t, "--values", "testdata/helm/cluster.values.yaml")) {
		spec, ok := o.at("spec", "template", "spec").(map[string]any)
		if !ok {
			continue
		}
		pod := object(spec)
		if pod.at("securityContext", "seccompProfile", "type") != "RuntimeDefault" {
			t.Errorf("%s: no seccomp profile", name)
		}
		if pod["automountServiceAccountToken"] != false {
			t.Errorf("%s has a token of the Kubernetes API", name)
		}
		for _, c := range pod["containers"].([]any) {
			c := object(c.(map[string]any))
			name := fmt.Sprint(name, " ", c["name"])
			if c.at("securityContext", "readOnlyRootFilesystem") != true ||
				c.at("securityContext", "allowPrivilegeEscalation") != false ||
				c.at("securityContext", "privileged") != nil {
				t.Errorf("%s: %v", name, c["securityContext"])
			}
			want := "map[drop:[ALL]]"
			if c["name"] == "trace" {
				want = "map[add:[BPF PERFMON SYS_PTRACE DAC_READ_SEARCH] drop:[ALL]]"
			}
			if got := fmt.Sprint(c.at("securityContext", "capabilities")); got != want {
				t.Errorf("%s has the capabilities %s", name, got)
			}
			if c.at("resources", "limits", "memory") == nil {
				t.Errorf("%s has no limit of memory", name)
			}
		}
		if agent := strings.HasPrefix(name, "DaemonSet/"); !agent && (pod.at("securityContext", "runAsNonRoot") != true ||
			pod["hostPID"] != nil) {
			t.Errorf("%s is root: %v", name, pod["securityContext"])
		}
	}
}

// TestChartTakes: what Kubernetes knows of nodes, peers and updates.
func TestChartTakes(t *testing.T) {
	const rolling = "agent.updateStrategy.rollingUpdate"
	for args, want := range map[string]string{
		rolling + ".maxUnavailable=null," + rolling + ".maxSurge=1":                   "maxSurge: 1",
		rolling + "=null,agent.updateStrategy.type=OnDelete":                          "type: OnDelete",
		"agent.tolerations[0].key=a,agent.tolerations[0].tolerationSeconds=60":        "tolerationSeconds: 60",
		"agent.tolerations=null":                                                      "kind: DaemonSet",
		`agent.resources.limits.nvidia\.com/gpu=1`:                                    "nvidia.com/gpu: 1",
		"agent.env[0].name=A,agent.env[0].valueFrom.fieldRef.fieldPath=spec.nodeName": "fieldPath: spec.nodeName",
	} {
		has(t, render(t, "--set", args), want)
	}
}

func TestChartRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"agnet.enabled=true":                              "additional properties 'agnet' not allowed",
		"agent.enable=true":                               "additional properties 'enable' not allowed",
		"agent.env[0].name=A,agent.env[0].vlaue=b":        "additional properties 'vlaue' not allowed",
		"agent.env[0].name=A,agent.env[0].value=1":        "agent/env/0/value",
		"agent.resources.limit.cpu=1":                     "additional properties 'limit' not allowed",
		"agent.tolerations[0].efect=NoSchedule":           "additional properties 'efect' not allowed",
		"agent.updateStrategy.rollingUpdate.maxSruge=1":   "additional properties 'maxSruge' not allowed",
		"echo.affinity.podAfinity.a=b":                    "additional properties 'podAfinity' not allowed",
		"networkPolicies.metricsFrom[0].podSelector.a=b":  "additional properties 'a' not allowed",
		"agent.env[0].name=A,agent.env[0].valueFrom.a=b":  "additional properties 'a' not allowed",
		"fleet.replicas=0":                                "minimum: got 0, want 1",
		"agent.hostPath=var/lib":                          "agent/hostPath",
		"echo.storage.whenDeleted=Never":                  "echo/storage/whenDeleted",
		"sink.webhook=alerts.example":                     "sink/webhook",
		"push.enabled=true":                               "push.enabled needs a fleet: set fleet.enabled, or push.fleets",
		"sink.enabled=true":                               "sink.enabled serves what push tells: set push.enabled, too",
		"agent.enabled=false":                             "nothing is enabled",
		"agent.enabled=false,push.enabled=true":           "push.enabled reads what the tracer records",
		"tls.insecure=true,tls.existingSecret=ingero-tls": "contradict each other",
	} {
		if got := refused(t, "--set", args); !strings.Contains(got, want) {
			t.Errorf("%s: %q, without %q", args, got, want)
		}
	}
}

// open are the objects of the schema whose keys Kubernetes knows, or nobody does, as resources may be of any kind.
var open = []string{
	"/properties/global",
	"/definitions/resources/properties/requests", "/definitions/resources/properties/limits",
	"/definitions/affinity/properties/nodeAffinity", "/definitions/affinity/properties/podAffinity",
	"/definitions/affinity/properties/podAntiAffinity",
	valueFrom + "configMapKeyRef", valueFrom + "fieldRef", valueFrom + "fileKeyRef", valueFrom + "resourceFieldRef",
	valueFrom + "secretKeyRef",
}

const valueFrom = "/properties/agent/properties/env/items/properties/valueFrom/properties/"

// A misspelt key is refused wherever it is: the schema has no object that takes others than it names, but for those
// that are open, and those whose keys anybody names, like labels.
func TestSchemaKnowsAllKeys(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(b, &schema); err != nil {
		t.Fatal(err)
	}
	n, takesAll := 0, []string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch x := v.(type) {
		case map[string]any:
			types, _ := x["type"].([]any)
			_, named := x["properties"].(map[string]any)
			if named || x["type"] == "object" || slices.Contains(types, any("object")) {
				n++
				_, labels := x["additionalProperties"].(map[string]any)
				if x["additionalProperties"] != false && !labels {
					takesAll = append(takesAll, path)
				}
			}
			for k, e := range x {
				walk(path+"/"+k, e)
			}
		case []any:
			for i, e := range x {
				walk(fmt.Sprint(path, "/", i), e)
			}
		}
	}
	walk("", schema)
	slices.Sort(takesAll)
	if diff := cmp.Diff(slices.Sorted(slices.Values(open)), takesAll); diff != "" {
		t.Errorf("these take keys that they do not know:\n%s", diff)
	}
	if n < 30 {
		t.Errorf("only %d objects", n)
	}
}

// DuckDB's memory is a flag of Echo only if a value says how much: programs of earlier versions do not know the flag.
func TestChartGivesEchoMemory(t *testing.T) {
	const flag = "--engine-memory-mib"
	for value, want := range map[string]bool{"1024": true, "0": false, "null": false} {
		out := render(t, "--set", "echo.enabled=true,echo.engineMemoryMiB="+value)
		has(t, out, "--keep-gib=10")
		if got := strings.Contains(out, flag+"="+value+"\n"); got != want || !want && strings.Contains(out, flag) {
			t.Errorf("with %s the flag is there: %v", value, got)
		}
	}
}

// The Secrets that the chart makes: a certificate for the names by which tracers ask, and tokens that fit together.
func TestChartMakesSecrets(t *testing.T) {
	all := objects(t, render(t, "--set", "fleet.enabled=true,fleet.replicas=2,push.enabled=true,echo.enabled=true"))
	text := func(o object, key string) []byte {
		s, _ := o.at("data", key).(string)
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil || len(b) == 0 {
			t.Fatalf("%s: %q, %v", key, s, err)
		}
		return b
	}
	tls := all["Secret/ingero-tls"]
	block, _ := pem.Decode(text(tls, "tls.crt"))
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text(tls, "ca.crt"))
	for _, host := range []string{
		"ingero-fleet-0.ingero-fleet.ingero.svc", "ingero-fleet-1.ingero-fleet.ingero.svc", "ingero-fleet.ingero.svc",
		"ingero-echo.ingero.svc", "localhost",
	} {
		if _, err := cert.Verify(x509.VerifyOptions{DNSName: host, Roots: roots}); err != nil {
			t.Error(err)
		}
	}
	tokens := all["Secret/ingero-tokens"]
	of := func(key string) string { s, _ := tokens.at("stringData", key).(string); return s }
	if want := of("echo") + " write\n" + of("echo-read") + " read\n"; of("echo-tokens") != want {
		t.Errorf("tokens of Echo: %q, want %q", of("echo-tokens"), want)
	}
	if a, b, c := of("fleet"), of("echo"), of("echo-read"); len(a) != 32 || len(b) != 32 || len(c) != 32 || a == b || b == c {
		t.Errorf("tokens %q, %q, %q", a, b, c)
	}
}

// The chart has its own copies, as helm packs only what lies in its folder.
func TestFilesOfTheChart(t *testing.T) {
	for file, from := range map[string]string{
		"ingero.json": "../deploy/grafana/ingero.json", "ingero-fleet.json": "../deploy/grafana/ingero-fleet.json",
		"stragglers.yml": "../deploy/prometheus/stragglers.yml",
	} {
		want, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join(chart, "files", file), string(want))
	}
	if os.Getenv(helmEnv) == "" {
		return
	}
	all := objects(t, render(t, "--set", "dashboards.enabled=true,alerts.enabled=true"))
	for _, file := range []string{"ingero.json", "ingero-fleet.json"} {
		name := strings.TrimSuffix(file, ".json")
		got, _ := all["ConfigMap/ingero-dashboard-"+name].at("data", file).(string)
		want, err := os.ReadFile(filepath.Join("../deploy/grafana", file))
		if err != nil || strings.TrimSpace(got) != strings.TrimSpace(string(want)) {
			t.Errorf("%s is another one in the ConfigMap (%d bytes), %v", file, len(got), err)
		}
	}
	var rules struct{ Groups []any }
	b, err := os.ReadFile("../deploy/prometheus/stragglers.yml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, &rules); err != nil {
		t.Fatal(err)
	}
	got, _ := all["PrometheusRule/ingero"].at("spec", "groups").([]any)
	if len(got) == 0 || fmt.Sprint(got) != fmt.Sprint(rules.Groups) {
		t.Errorf("rules %v, want %v", got, rules.Groups)
	}
}

// plain are the manifests for those without helm, and the values they are rendered with.
var plain = []struct{ file, values, what string }{
	{"agent.yaml", "", "The tracer on each node with a GPU."},
	{
		"cluster.yaml",
		"fleet.enabled=true,fleet.replicas=2,push.enabled=true,sink.enabled=true,echo.enabled=true," +
			"networkPolicies.enabled=true,tls.existingSecret=ingero-tls,tokens.existingSecret=ingero-tokens",
		"The tracer, two Fleets, the sink and Echo. They need two Secrets: docs/kubernetes.md.",
	},
}

const namespace = `apiVersion: v1
kind: Namespace
metadata:
  name: ingero
  labels:
    pod-security.kubernetes.io/enforce: privileged # the tracer has the host's process ids
`

func TestPlainManifestsAreCurrent(t *testing.T) {
	for _, p := range plain {
		var args []string
		if p.values != "" {
			args = []string{"--set", p.values}
		}
		b := &strings.Builder{}
		fmt.Fprintf(b, "# %s\n# Made of deploy/helm/ingero by make manifests; without helm: kubectl apply -f %s\n%s", p.what, p.file, namespace)
		for line := range strings.Lines(render(t, args...)) {
			if !strings.HasPrefix(line, "# Source:") && !strings.Contains(line, "helm.sh/chart:") &&
				!strings.Contains(line, "app.kubernetes.io/managed-by:") {
				b.WriteString(line)
			}
		}
		golden(t, filepath.Join("../deploy/kubernetes", p.file), b.String())
		objects(t, b.String())
	}
}
