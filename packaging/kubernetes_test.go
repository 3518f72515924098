package packaging_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

const document = "../docs/kubernetes.md"

// kubernetes is a cluster of one node.
type kubernetes struct {
	*node
	ran []string // commands of the document
}

// newKubernetes starts a cluster, which is removed when the test ends, however it ends.
func newKubernetes(t *testing.T) *kubernetes {
	t.Helper()
	if os.Getenv(kubernetesEnv) == "" {
		t.Skip("make test-k8s runs it, with the Kubernetes that it builds")
	}
	return &kubernetes{node: newNode(t, "kubernetes/cluster", explainKubernetes)}
}

// documented runs lines of the document.
func (k *kubernetes) documented(lines ...string) string {
	k.t.Helper()
	k.ran = append(k.ran, lines...)
	return k.run(strings.Join(lines, "\n"))
}

// until runs a line until what it prints is as wanted. How long it may take depends on the machine.
func (k *kubernetes) until(line string, ok func(out string) bool) string {
	k.t.Helper()
	out := ""
	for range 180 {
		var err error
		if out, err = k.try(line); err == nil && ok(out) {
			return out
		}
		time.Sleep(time.Second)
	}
	k.t.Fatalf("%s: it did not become as wanted in three minutes: %s", line, out)
	return ""
}

// explainKubernetes says what is where, for one who has to find out why a test failed.
func explainKubernetes(n *node) {
	for _, line := range []string{
		"kubectl get pods,pvc,pv -A -o wide", "kubectl get events -A --sort-by=.lastTimestamp | tail -n 25",
		"kubectl -n ingero logs daemonset/ingero --all-containers --tail=20 --prefix", "kubectl -n ingero logs statefulset/ingero-echo --tail=20",
		"kubectl -n ingero logs statefulset/ingero-fleet --tail=20", "tail -n 4 ../log/*",
	} {
		out, _ := n.try(line) // as far as it goes
		n.t.Logf("$ %s\n%s", line, out)
	}
}

// commands are the lines in a document's blocks of shell.
func commands(t testing.TB, file string) (list []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return shellOf(string(b))
}

// documentedValues is the block of YAML in the document.
func documentedValues(t testing.TB) map[string]any {
	t.Helper()
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(b), "```yaml\n")
	block, _, ok := strings.Cut(block, "```")
	v := map[string]any{}
	if err := yaml.Unmarshal([]byte(block), v); err != nil || !ok || len(v) == 0 {
		t.Fatalf("%s has no values: %v", document, err)
	}
	return v
}

// values writes the values of the document, with what differs here: images that are there already, and a volume.
func (k *kubernetes) values(tag string) {
	k.t.Helper()
	v := documentedValues(k.t)
	v["image"] = map[string]any{"tag": tag, "pullPolicy": "Never"}
	v["echo"].(map[string]any)["storage"] = map[string]any{"className": "here", "whenDeleted": "Delete"}
	b, err := yaml.Marshal(v)
	if err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(k.work(), "values.yaml"), b, 0o644); err != nil {
		k.t.Fatal(err)
	}
}

// A volume for Echo: its folder belongs to the user that Echo runs as.
const volume = `apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec:
  storageClassName: "%[1]s"
  capacity: {storage: 20Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: %[2]s/%[1]s}
`

// A stand-in for a training job: four ranks, one of which waits longer for its GPU in each step once there is a file.
// The tracer has its namespace's name from the service account: it looks for the kubelet's files where process 1 has
// them, and that is the machine's here.
const job = `apiVersion: v1
kind: Pod
metadata: {name: trainer-0, namespace: team-a}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 5
  containers:
  - name: worker
    image: localhost/train:1
    imagePullPolicy: Never
    args: [--steps, "0", --ranks, "4", --nccl, /train/lib/libnccl.so.2, --host-us, "1000", --read-us, "40000",
      --gpu-us, "5000", --late, gpu, --late-rank, "2", --late-ms, "40", --dir, /job, --late-gate, /job/late]
    securityContext: {runAsUser: 65534, runAsNonRoot: true, allowPrivilegeEscalation: false}
    volumeMounts: [{name: job, mountPath: /job}]
  volumes: [{name: job, emptyDir: {}}]
`

// ask asks Echo, through the port that the document forwards.
func (k *kubernetes) ask(sql string) string {
	b, err := json.Marshal(map[string]string{"sql": sql})
	if err != nil {
		k.t.Fatal(err)
	}
	ask := slices.IndexFunc(commands(k.t, document), func(c string) bool { return strings.HasPrefix(c, "curl ") })
	line := commands(k.t, document)[ask]
	before, after, ok := strings.Cut(line, " -d '")
	_, after, ok2 := strings.Cut(after, "' ")
	if !ok || !ok2 {
		k.t.Fatalf("the document asks Echo in another way: %s", line)
	}
	return `kubectl -n ingero port-forward statefulset/ingero-echo 8081 >/dev/null & trap "kill $!" EXIT
for _ in $(seq 100); do ! curl -s localhost:8081 -o /dev/null || break; sleep 0.2; done
kubectl -n ingero get secret ingero-tls -o jsonpath='{.data.ca\.crt}' | base64 -d >ca.crt
token=$(kubectl -n ingero get secret ingero-tokens -o jsonpath='{.data.echo-read}' | base64 -d)
` + before + " -d '" + strings.ReplaceAll(string(b), "'", `'\''`) + "' " + after
}

// rows are the answer of Echo.
func rows(t testing.TB, answer string) [][]any {
	t.Helper()
	var a struct{ Rows [][]any }
	d := json.NewDecoder(strings.NewReader(answer))
	d.UseNumber() // a time in ns is no float64
	if err := d.Decode(&a); err != nil || len(a.Rows) == 0 {
		t.Fatalf("%v: %s", err, answer)
	}
	return a.Rows
}

const (
	query    = "kubectl -n ingero exec daemonset/ingero -c trace -- ingero query --format json "
	rollouts = "kubectl -n ingero rollout status daemonset/ingero --timeout=3m; " +
		"kubectl -n ingero rollout status statefulset/ingero-fleet --timeout=3m; " +
		"kubectl -n ingero rollout status statefulset/ingero-echo --timeout=3m"
)

// The commands of docs/kubernetes.md, on a real Kubernetes: everything comes up, a job's processes are traced with the
// names of pod and namespace, its slow rank arrives in Echo with the cause, upgrade and rollback lose nothing, and
// uninstalling leaves nothing.
func TestKubernetes(t *testing.T) {
	k := newKubernetes(t)
	k.prepare()
	install := commands(t, document)

	out, err := k.try("helm install ingero deploy/helm/ingero --set alerts.enabled=true --dry-run=server")
	if err == nil || !strings.Contains(out, `no matches for kind "PrometheusRule"`) {
		t.Errorf("without Prometheus Operator: %v: %s", err, out)
	}

	// Without a GPU there is no tracer.
	k.values("1")
	k.documented(install[0])
	if out := k.run("kubectl -n ingero get daemonset ingero -o jsonpath='{.status.desiredNumberScheduled}'"); out != "0" {
		t.Errorf("on a node without a GPU: %s", out)
	}
	k.run("kubectl label node gpu-node-1 nvidia.com/gpu.present=true")
	k.until("kubectl -n ingero get daemonset ingero -o jsonpath='{.status.desiredNumberScheduled}'",
		func(out string) bool { return out == "1" })
	for _, c := range install[1:4] {
		t.Log(k.documented(c))
	}
	t.Log(k.documented("kubectl -n ingero exec daemonset/ingero -c trace -- ingero check"))

	k.traced()
	k.straggler()
	k.memory()
	k.upgrade()
	k.uninstall()
	k.plain(install)

	for _, c := range install {
		if !slices.Contains(k.ran, c) {
			t.Errorf("%s is in the document, and was not run", c)
		}
	}
}

// prepare makes what differs from a real cluster: the chart's folder, a volume and a job.
func (k *kubernetes) prepare() {
	k.t.Helper()
	work, volumes := k.work(), filepath.Join(k.dir, "volumes")
	deploy, err := filepath.Abs("../deploy")
	if err != nil {
		k.t.Fatal(err)
	}
	manifests := ""
	for _, name := range []string{"here", "there"} {
		folder := filepath.Join(volumes, name)
		if err := errors.Join(os.MkdirAll(folder, 0o700), os.Chown(folder, 65532, 65532)); err != nil {
			k.t.Fatal(err)
		}
		manifests += "---\n" + fmt.Sprintf(volume, name, volumes)
	}
	for _, err := range []error{
		os.Symlink(deploy, filepath.Join(work, "deploy")),
		os.WriteFile(filepath.Join(work, "volume.yaml"), []byte(manifests), 0o644),
		os.WriteFile(filepath.Join(work, "job.yaml"), []byte(job), 0o644),
	} {
		if err != nil {
			k.t.Fatal(err)
		}
	}
	k.run("kubectl apply -f volume.yaml")
}

// traced waits until the job is in the recording of its node, with its names.
func (k *kubernetes) traced() {
	k.t.Helper()
	k.run("kubectl create namespace team-a; kubectl apply -f job.yaml; kubectl -n team-a wait --for=condition=Ready pod/trainer-0 --timeout=60s")
	line := `kubectl -n ingero exec daemonset/ingero -c trace -- ingero query "select distinct namespace, pod, pod_container from processes where pod is not null"`
	k.t.Log(k.until(line, func(out string) bool { return strings.Contains(out, "trainer-0") }))
	k.documented(line)
	out := k.until(query+`"select namespace, pod, pod_container, runtime, count(*) as n from processes where name like 'rank-%' group by 1, 2, 3, 4"`,
		func(out string) bool { return strings.Contains(out, `"n":4`) })
	if want := `{"namespace":"team-a","pod":"trainer-0","pod_container":"worker","runtime":"containerd","n":4}`; !strings.Contains(out, want) {
		k.t.Errorf("traced: %s, want %s", out, want)
	}
	out = k.run(query + `"select node from sessions"`)
	if !strings.Contains(out, `"gpu-node-1"`) {
		k.t.Errorf("the node is called %s", out)
	}
	k.t.Log(k.documented("kubectl -n ingero exec daemonset/ingero -c trace -- ingero explain"))
}

// straggler makes a rank slow, and waits for what is said of it.
func (k *kubernetes) straggler() {
	k.t.Helper()
	status := "kubectl -n ingero exec daemonset/ingero -c push -- ingero fleet status"
	k.until(status, func(out string) bool { return strings.Count(out, " active") == 4 })
	uid := k.run("kubectl -n team-a get pod trainer-0 -o jsonpath='{.metadata.uid}'")
	gate := filepath.Join(k.dir, "kubelet/pods", uid, "volumes/kubernetes.io~empty-dir/job/late")
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		k.t.Fatal(err)
	}
	began := time.Now()
	k.until(status, func(out string) bool { return strings.Contains(out, "straggler") })
	k.t.Logf("told after %s:\n%s", time.Since(began).Round(time.Second), k.documented(status))

	sink := k.run("kubectl -n ingero get pod -l app.kubernetes.io/component=agent -o jsonpath='{.items[0].status.podIP}'")
	k.until("curl -s http://"+sink+":9464/metrics", func(out string) bool {
		return strings.Contains(out, `ingero_sink_active_stragglers{cluster_id="east",node_id="gpu-node-1"} 1`)
	})
	has(k.t, k.run("curl -s http://"+sink+":9090/metrics"), "ingero_tracer_memory_usage_bytes", "ingero_call_duration_seconds")
	if out := k.run("kubectl -n ingero get configmap -l grafana_dashboard=1 -o name"); strings.Count(out, "configmap/") != 2 {
		k.t.Errorf("dashboards: %s", out)
	}
	question := k.ask("select cluster_id, node_id, rank, cause from stragglers where type = 'straggler_state' and cause is not null limit 1")
	answer := k.until(question, func(out string) bool { return strings.Contains(out, "gpu_wait") })
	if got := fmt.Sprint(rows(k.t, answer)); got != "[[east gpu-node-1 2 gpu_wait]]" {
		k.t.Errorf("Echo: %s", got)
	}
	// As the document asks, in one shell.
	c := commands(k.t, document)
	first := slices.IndexFunc(c, func(l string) bool { return strings.Contains(l, "port-forward") })
	k.ran = append(k.ran, c[first:first+4]...)
	k.t.Log(k.run(c[first] + "\ntrap \"kill $!\" EXIT\nsleep 5\n" + strings.Join(c[first+1:first+4], "\n")))
	// What the tracer itself sends has the cluster's name, too.
	k.until(k.ask("select count(*) from events where cluster_id = 'east' and node_id = 'gpu-node-1' and kind = 'gauge'"),
		func(out string) bool { return !strings.Contains(out, "[[0]]") && strings.Contains(out, "rows") })
	// Who may only write cannot ask.
	out := k.run(`token=$(kubectl -n ingero get secret ingero-tokens -o jsonpath='{.data.echo}' | base64 -d)
ip=$(kubectl -n ingero get pod ingero-echo-0 -o jsonpath='{.status.podIP}')
curl -s --cacert ca.crt --resolve ingero-echo.ingero.svc:8081:$ip -H "Authorization: Bearer $token" -d '{"sql": "select 1"}' https://ingero-echo.ingero.svc:8081/api/v1/sql`)
	if !strings.Contains(out, "forbidden") {
		k.t.Errorf("a tracer's token may ask: %s", out)
	}
}

// memory says how much each container takes.
func (k *kubernetes) memory() {
	k.t.Helper()
	var s struct {
		Pods []struct {
			PodRef     struct{ Namespace, Name string }
			Containers []struct {
				Name   string
				Memory struct{ WorkingSetBytes uint64 }
			}
		}
	}
	if err := json.Unmarshal([]byte(k.run("kubectl get --raw /api/v1/nodes/gpu-node-1/proxy/stats/summary")), &s); err != nil {
		k.t.Fatal(err)
	}
	n := 0
	for _, p := range s.Pods {
		for _, c := range p.Containers {
			if p.PodRef.Namespace == "ingero" {
				n++
				k.t.Logf("%s %s: %d MiB", p.PodRef.Name, c.Name, c.Memory.WorkingSetBytes>>20)
			}
		}
	}
	if n != 6 {
		k.t.Errorf("%d containers, want 6", n)
	}
	again := k.run(`kubectl -n ingero get pods -o go-template='{{range .items}}{{$pod := .metadata.name}}{{range .status.containerStatuses}}{{if .restartCount}}{{$pod}} -c {{.name}}{{"\n"}}{{end}}{{end}}{{end}}'`)
	for c := range strings.Lines(again) {
		out, _ := k.try("kubectl -n ingero logs --previous --tail=20 " + c) // as far as it is there
		k.t.Errorf("a container was started again: %s%s", c, out)
	}
}

// versions asks each program in the cluster for its version.
func (k *kubernetes) versions(want string) {
	k.t.Helper()
	for where, program := range map[string]string{
		"daemonset/ingero -c trace": "ingero", "daemonset/ingero -c push": "ingero", "daemonset/ingero -c sink": "straggler-sink",
		"pod/ingero-fleet-0": "ingero-fleet", "pod/ingero-fleet-1": "ingero-fleet", "statefulset/ingero-echo": "ingero-echo",
	} {
		out := k.run("kubectl -n ingero exec " + where + " -- " + program + " version")
		if !strings.HasPrefix(out, program+" "+want+" ") {
			k.t.Errorf("%s is %s, want version %s", where, out, want)
		}
	}
}

// recorded counts what the recording has until a time, ns; without one, until ten seconds ago.
func (k *kubernetes) recorded(until string) (what, at string) {
	k.t.Helper()
	if until == "" {
		var last []struct{ Last json.Number }
		out := k.run(query + `"select max(timestamp) - 10000000000 as last from op_seconds"`)
		if err := json.Unmarshal([]byte(out), &last); err != nil || len(last) != 1 {
			k.t.Fatalf("%v: %s", err, out)
		}
		until = last[0].Last.String()
	}
	return k.run(query + strings.ReplaceAll(`"select (select min(timestamp) from op_seconds) as first,
(select count(*) from op_seconds where timestamp <= UNTIL) as seconds,
(select coalesce(sum(calls), 0) from op_seconds where timestamp <= UNTIL) as calls,
(select count(*) from cuda_events where timestamp <= UNTIL) as events"`, "UNTIL", until)), until
}

// upgrade upgrades to another image, then to one that there is not, and rolls that back; then it goes back to the first
// one. No row is lost on the way.
func (k *kubernetes) upgrade() {
	k.t.Helper()
	const secrets = "kubectl -n ingero get secret ingero-tls ingero-tokens -o jsonpath='{.items[*].data}'"
	kept := k.run(secrets)
	var received, inEcho any // until when rows of Echo are counted, ns, and how many there are
	countInEcho := func() any {
		k.t.Helper()
		return rows(k.t, k.run(k.ask(fmt.Sprintf("select count(*) from events where received_ns <= %s", received))))[0][0]
	}
	var rowsBefore, until string
	count := func() {
		k.t.Helper()
		// What came within ten seconds may not be written yet, even if what came later is.
		received = rows(k.t, k.run(k.ask("select max(received_ns) - 10000000000 from events")))[0][0]
		inEcho = countInEcho()
		rowsBefore, until = k.recorded("")
		if strings.Contains(rowsBefore, `:0,`) || strings.Contains(rowsBefore, `:0}`) {
			k.t.Errorf("nothing is recorded: %s", rowsBefore)
		}
	}
	check := func(sessions int, version string) {
		k.t.Helper()
		if got := k.run(secrets); got != kept {
			k.t.Error("certificate or tokens are others now")
		}
		k.until(query+`"select count(*) as n from sessions s where exists (select 1 from op_seconds o
where o.timestamp > s.started_at and o.timestamp < coalesce(nullif(s.stopped_at, 0), 9e18))"`, func(out string) bool {
			return strings.Contains(out, fmt.Sprintf(`"n":%d}`, sessions))
		})
		if got, _ := k.recorded(until); got != rowsBefore {
			k.t.Errorf("the recording has %s, and had %s", got, rowsBefore)
		}
		if n := countInEcho(); n != inEcho {
			k.t.Errorf("Echo has %v rows, and had %v", n, inEcho)
		}
		k.versions(version)
	}

	k.versions("0.0.1")
	count()
	k.values("2")
	k.documented("helm upgrade ingero deploy/helm/ingero --namespace ingero --values values.yaml")
	k.t.Log(k.run(rollouts))
	check(2, "0.0.2")

	k.values("missing")
	k.run("helm upgrade ingero deploy/helm/ingero --namespace ingero --values values.yaml")
	if out, err := k.try("kubectl -n ingero rollout status daemonset/ingero --timeout=10s"); err == nil {
		k.t.Errorf("an image is missing, and the rollout is said to be done: %s", out)
	}
	k.documented("helm rollback ingero --namespace ingero")
	k.documented("kubectl -n ingero delete pods --field-selector status.phase=Pending")
	k.t.Log(k.run(rollouts))
	check(3, "0.0.2")

	count()
	k.documented("helm rollback ingero 1 --namespace ingero")
	k.t.Log(k.run(rollouts))
	check(4, "0.0.1")
}

func (k *kubernetes) uninstall() {
	k.t.Helper()
	k.documented("helm uninstall ingero --namespace ingero")
	k.until("kubectl -n ingero get all,pvc,secret,networkpolicy,pdb,controllerrevision,endpointslice -o name", func(out string) bool {
		return out == "" || strings.HasPrefix(out, "No resources")
	})
	left := k.run(`kubectl get -n ingero -o name "$(kubectl api-resources --verbs=list --namespaced -o name | grep -Ev '^(events|endpoints$)' | paste -sd,)"`)
	for l := range strings.FieldsSeq(left) {
		if l != "configmap/kube-root-ca.crt" && l != "serviceaccount/default" {
			k.t.Errorf("%s is left", l)
		}
	}
	if out := k.run(`kubectl get -o name "$(kubectl api-resources --verbs=list --namespaced=false -o name | grep -Ev '^componentstatuses' | paste -sd,)" | grep ingero || true`); out != "namespace/ingero" {
		k.t.Errorf("%s is left", out)
	}
	if out := k.run("ls /var/lib/ingero"); !strings.Contains(out, "ingero.db") {
		k.t.Errorf("the recording is not there any more: %s", out)
	}
}

// plain applies the manifests for those without helm: the tracer alone, then all.
func (k *kubernetes) plain(all []string) {
	k.t.Helper()
	for _, name := range []string{"ingero", "ingero-fleet", "ingero-echo"} { // the images that the manifests name
		k.run(fmt.Sprintf("ctr -n k8s.io images tag ghcr.io/ingero-io/%s:1 ghcr.io/ingero-io/%[1]s:%s", name, releaseVersion(k.t)))
	}
	k.run("kubectl apply -f - <<E\n" +
		"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: there, annotations: " +
		"{storageclass.kubernetes.io/is-default-class: 'true'}}, provisioner: kubernetes.io/no-provisioner}\nE")
	at := slices.IndexFunc(all, func(c string) bool { return strings.HasPrefix(c, "kubectl apply -f ") })
	k.documented(all[at])
	k.run("kubectl -n ingero rollout status daemonset/ingero --timeout=3m")
	k.documented(all[at+1 : len(all)-1]...)
	k.t.Log(k.run(rollouts))
	k.run("kubectl -n team-a delete pod trainer-0; kubectl apply -f job.yaml") // ranks from before the tracer are not compared
	k.until("kubectl -n ingero exec daemonset/ingero -c push -- ingero fleet status", func(out string) bool {
		return strings.Contains(out, "answers")
	})
	k.documented(all[len(all)-1])
	if out, err := k.try("kubectl get namespace ingero"); err == nil {
		k.t.Errorf("the namespace is left: %s", out)
	}
}
