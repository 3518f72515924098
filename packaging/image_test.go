package packaging_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// imageEnv names the folder with the programs of the image, as "make test-image" or "make release-snapshot" builds them.
const imageEnv = "INGERO_IMAGE_PROGRAMS"

// imageName is what the image is called in these tests, and newerName what an upgrade is.
const imageName, newerName = "ghcr.io/ingero-io/ingero:1.2.3", "ghcr.io/ingero-io/ingero:1.2.4"

// labels are what these tests say of the image.
var labels = map[string]string{"VERSION": "1.2.3", "TAG": "1.2.3", "COMMIT": "0123456789abcdef", "SOURCE_DATE_EPOCH": "1700000000"}

func imagePrograms(t testing.TB) string {
	t.Helper()
	programs := os.Getenv(imageEnv)
	if programs == "" {
		t.Skip("make test-image runs it, with the programs that it builds")
	}
	return programs
}

// buildImage writes the image of the programs in a folder to a file, and returns what the tool prints. More variables
// say what is different about it.
func buildImage(t testing.TB, programs, file string, more ...string) string {
	t.Helper()
	cmd := exec.Command("./image", "ingero", programs, file)
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv(kubernetesEnv)+":"+os.Getenv("PATH"))
	for name, value := range labels {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, more...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// theImage is the image of these tests: its file and what the tool printed. It is built once.
func theImage(t *testing.T) (file, printed string) {
	t.Helper()
	programs := imagePrograms(t)
	file = filepath.Join(os.Getenv(kubernetesEnv), "ingero_image.tar")
	once.Do(func() { built = buildImage(t, programs, file) })
	if built == "" {
		t.Fatal("it could not be built")
	}
	return file, built
}

var (
	once  sync.Once
	built string
)

// descriptor names a blob of an image (https://specs.opencontainers.org/image-spec/descriptor).
type descriptor struct {
	Digest   string
	Size     int64
	Platform struct{ OS, Architecture string }
}

// blobs are the files of an image's layout.
type blobs map[string][]byte

// unpacked are the files of a tar file.
func unpacked(t *testing.T, from io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	eachFile(t, from, func(h *tar.Header, data []byte) { files[h.Name] = data })
	return files
}

// eachFile visits the files of a tar file, without folders.
func eachFile(t *testing.T, from io.Reader, visit func(h *tar.Header, data []byte)) {
	t.Helper()
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		visit(h, data)
	}
}

// of decodes a blob.
func (b blobs) of(t *testing.T, d descriptor, into any) {
	t.Helper()
	data := b["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
	if int64(len(data)) != d.Size || len(data) == 0 {
		t.Fatalf("%+v has %d bytes", d, len(data))
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// layer is the tar file of a layer.
func (b blobs) layer(t *testing.T, l descriptor) io.Reader {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b["blobs/"+strings.Replace(l.Digest, ":", "/", 1)]))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// index opens an image, and returns what it has for each architecture.
func index(t *testing.T, file string) (blobs, []descriptor) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := blobs(unpacked(t, f))
	var top, index struct{ Manifests []descriptor }
	if err := json.Unmarshal(b["index.json"], &top); err != nil || len(top.Manifests) != 1 {
		t.Fatalf("%v: %s", err, b["index.json"])
	}
	b.of(t, top.Manifests[0], &index)
	return b, index.Manifests
}

// most is how much may have to be fetched of an image, bytes.
const most = 40_000_000

func TestImageHasThePrograms(t *testing.T) {
	file, _ := theImage(t)
	b, manifests := index(t, file)
	var arches []string
	for _, m := range manifests {
		arch := m.Platform.Architecture
		if m.Platform.OS != "linux" {
			t.Errorf("an image for %s", m.Platform.OS)
		}
		arches = append(arches, arch)
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		b.of(t, m, &manifest)
		var c struct {
			OS, Architecture string
			Config           struct {
				User       string
				Entrypoint []string
				Labels     map[string]string
			}
		}
		b.of(t, manifest.Config, &c)
		if c.OS != "linux" || c.Architecture != arch || c.Config.User != "" || !slices.Equal(c.Config.Entrypoint, []string{"/usr/bin/ingero"}) {
			t.Errorf("%s: %+v", arch, c)
		}
		for label, want := range map[string]string{
			"version": labels["VERSION"], "revision": labels["COMMIT"], "licenses": "Apache-2.0",
			"source": "https://github.com/ingero-io/ingero", "title": "Ingero, which records why GPUs wait",
		} {
			if got := c.Config.Labels["org.opencontainers.image."+label]; got != want {
				t.Errorf("%s: the label %s is %q, want %q", arch, label, got, want)
			}
		}
		size, names := m.Size+manifest.Config.Size, []string{}
		for _, l := range manifest.Layers {
			size += l.Size
			for name, data := range unpacked(t, b.layer(t, l)) {
				names = append(names, name)
				if strings.HasPrefix(name, "usr/bin/") {
					static(t, name, data, arch)
				}
			}
		}
		slices.Sort(names)
		want := []string{"etc/group", "etc/passwd", "etc/ssl/certs/ca-certificates.crt", "usr/bin/ingero", "usr/bin/straggler-sink"}
		if !slices.Equal(names, want) {
			t.Errorf("%s: it has %q, want %q", arch, names, want)
		}
		t.Logf("%s: %.1f MB to fetch", arch, float64(size)/1e6)
		if size > most {
			t.Errorf("%s: %d bytes to fetch, want at most %d", arch, size, most)
		}
	}
	if !slices.Equal(arches, []string{"amd64", "arm64"}) {
		t.Errorf("it is for %q", arches)
	}
}

// static checks that a program is for an architecture and needs no loader.
func static(t *testing.T, name string, program []byte, arch string) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]; f.Machine != want {
		t.Errorf("%s for %s is for %s", name, arch, f.Machine)
	}
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Errorf("%s for %s is not static", name, arch)
	}
}

// TestImageIsTheSameAgain: where, when and with which umask its programs were written does not matter.
func TestImageIsTheSameAgain(t *testing.T) {
	one, first := theImage(t)
	again, two := t.TempDir(), filepath.Join(t.TempDir(), "again.tar")
	var found []string
	for _, p := range []string{"ingero", "straggler-sink"} {
		of, err := filepath.Glob(filepath.Join(imagePrograms(t), p+"_linux_*", p))
		if err != nil || len(of) != 2 {
			t.Fatalf("%q %v", of, err)
		}
		found = append(found, of...)
	}
	for _, f := range found {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(again, filepath.Base(filepath.Dir(f)))
		if err := errors.Join(
			os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, filepath.Base(f)), b, 0o700),
		); err != nil {
			t.Fatal(err)
		}
	}
	second := buildImage(t, again, two)
	if first != second || !strings.HasPrefix(first, imageName+" sha256:") {
		t.Errorf("%s, then %s", first, second)
	}
	a, err1 := os.ReadFile(one)
	b, err2 := os.ReadFile(two)
	if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
		t.Errorf("%d bytes, then other %d: %v %v", len(a), len(b), err1, err2)
	}
}

// containerd runs the image as docs/install.md says.
type containerd struct {
	*node
	image   string   // which one is run
	docker  []string // what the document has for Docker, in words
	prepare []string // lines that come before the container is run
	rights  []string // those of them that say with which rights
	options string   // of ctr run
	records string   // what the document runs in it
	upgrade string   // the line that imports another version
	remove  string   // the line that removes one
}

// documented reads the commands of docs/install.md, section "As a container".
func (c *containerd) documented() {
	c.t.Helper()
	const name = "ghcr.io/ingero-io/ingero:VERSION"
	text := strings.ReplaceAll(strings.Join(section(c.t, installDoc, "## As a container"), "\n"), "\\\n", "")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		variable, _, _ := strings.Cut(line, "=$(")
		switch {
		case line == "docker load -i ingero_*_image.tar":
		case strings.HasPrefix(line, "docker run "):
			c.docker = strings.Fields(strings.ReplaceAll(line, name, imageName))[2:]
		case strings.HasPrefix(words[0], variable+"=$("):
			c.rights = append(c.rights, line)
		case strings.HasPrefix(line, "ctr run "):
			c.options, c.records, _ = strings.Cut(strings.TrimPrefix(line, "ctr run "), name+" ")
			c.records = strings.Join(strings.Fields(c.records), " ")
		case c.records == "":
			c.prepare = append(c.prepare, line)
		case strings.HasPrefix(line, "ctr images import ") && c.upgrade == "":
			c.upgrade = line
		case strings.HasPrefix(line, "ctr images rm ") && strings.HasSuffix(line, " "+name) && c.remove == "":
			c.remove = strings.TrimSuffix(line, name)
		default:
			c.t.Fatalf("the document has another line: %s", line)
		}
	}
	if len(c.docker) == 0 || len(c.rights) != 2 || len(c.prepare) != 2 || c.upgrade == "" || c.remove == "" ||
		!strings.HasPrefix(c.records, "ingero ingero ") {
		c.t.Fatalf("the document runs it in another way: %+v", c)
	}
}

// in is the line that runs something in a container, without a capability or an option of the document's.
func (c *containerd) in(without, id, what string) string {
	line := strings.Join(c.rights, "\n") + "\nctr run " + c.options + c.image + " " + id + " " + what
	if without == "" {
		return line
	}
	before, after, ok := strings.Cut(line, " "+without)
	if !ok {
		c.t.Fatalf("the document does not have %s", without)
	}
	return before + after
}

// capabilities are those that the document names.
var capabilities = map[string]uint{
	"BPF": unix.CAP_BPF, "PERFMON": unix.CAP_PERFMON, "SYS_PTRACE": unix.CAP_SYS_PTRACE, "DAC_READ_SEARCH": unix.CAP_DAC_READ_SEARCH,
}

// The commands of docs/install.md with containerd and runc: a program of another user outside is traced, with exactly
// the rights that the document names, and what it says of each right is so.
func TestImageOnContainerd(t *testing.T) {
	file, _ := theImage(t)
	kerneltest.Require(t)
	c := &containerd{image: imageName, node: newNode(t, "kubernetes/node", func(n *node) {
		out, _ := n.try("tail -n 20 ../log/*") // as far as it goes
		t.Log(out)
	})}
	c.documented()
	c.dockerToo()
	if err := os.Symlink(file, filepath.Join(c.work(), "ingero_1.2.3_image.tar")); err != nil {
		t.Fatal(err)
	}

	t.Log(c.run(strings.Join(c.prepare, "\n")))
	if out := c.run(c.in("", "version", "ingero version")); !strings.Contains(out, "linux/"+runtime.GOARCH) {
		t.Errorf("version: %s", out)
	}
	if ok, out := c.check(""); !ok {
		t.Errorf("check: %s", out)
	}
	out := c.run(c.in("", "demo", "ingero demo incident"))
	if !strings.Contains(out, "Replaying a trace recorded earlier, because the program with the fault cannot run here") ||
		!strings.Contains(out, "The explanation is right.") {
		t.Errorf("demo: %s", out)
	}
	if out, err := c.try(c.in("", "other", "ingero trace --duration 1s --db /etc/other.db")); err == nil || !strings.Contains(out, "read-only file system") {
		t.Errorf("a recording in the image itself: %v: %s", err, out)
	}

	o := c.outside()
	c.traced(o, 1)
	c.without(o)
	c.upgraded(o)
	c.removed()
}

// upgraded imports the image of a newer version, which goes on in the recording of the older one, and removes that.
func (c *containerd) upgraded(o outside) {
	c.t.Helper()
	if err := os.Remove(filepath.Join(c.work(), "ingero_1.2.3_image.tar")); err != nil {
		c.t.Fatal(err)
	}
	buildImage(c.t, imagePrograms(c.t), filepath.Join(c.work(), "ingero_1.2.4_image.tar"), "VERSION=1.2.4", "TAG=1.2.4")
	c.t.Log(c.run(c.upgrade))
	c.image = newerName
	c.traced(o, 2)
	c.run(c.remove + imageName)
	if got := c.run("ctr images ls -q"); got != newerName {
		c.t.Errorf("there are the images %q", got)
	}
	if out := c.run(c.in("", "version", "ingero version")); !strings.Contains(out, "linux/"+runtime.GOARCH) {
		c.t.Errorf("version: %s", out)
	}
}

// removed removes the image: nothing is left but recordings.
func (c *containerd) removed() {
	c.t.Helper()
	c.run(c.remove + newerName)
	for _, what := range []string{
		"images ls -q", "containers ls -q", "tasks ls -q", "content ls -q", "snapshots ls | tail -n +2",
	} {
		if got := c.run("ctr " + what); got != "" {
			c.t.Errorf("ctr %s: %s", what, got)
		}
	}
	for name := range strings.FieldsSeq(c.run("find /var/lib/ingero -mindepth 1")) {
		if name = strings.TrimSuffix(strings.TrimSuffix(name, "-wal"), "-shm"); !strings.HasSuffix(name, ".db") {
			c.t.Errorf("%s is left", name)
		}
	}
	if n := c.run("ls /var/lib/ingero/ingero.db"); n == "" {
		c.t.Error("the recording is not left")
	}
}

// without checks what the document says of each right.
func (c *containerd) without(o outside) {
	c.t.Helper()
	for _, without := range []string{"BPF", "PERFMON"} {
		out, err := c.try(c.in(without, "without", "ingero trace --duration 1s --db /var/lib/ingero/without.db"))
		if err == nil || !strings.Contains(out, "ingero: tracing is not permitted") {
			c.t.Errorf("without %s: %v: %s", without, err, out)
		}
		if ok, out := c.check(without); ok || !strings.Contains(out, "without CAP_"+without) {
			c.t.Errorf("check without %s: %s", without, out)
		}
	}
	const host = "--with-ns pid:/proc/self/ns/pid"
	if _, out := c.check(host); !strings.Contains(out, "this is a container: process ids here are not those the kernel reports") {
		c.t.Errorf("check without %s: %s", host, out)
	}
	for _, without := range []string{"SYS_PTRACE", "DAC_READ_SEARCH"} {
		if ok, out := c.check(without); !ok || !strings.Contains(out, "without CAP_"+without) {
			c.t.Errorf("check without %s: %s", without, out)
		}
		db := "/var/lib/ingero/" + without + ".db"
		c.trace(without, o, strings.Replace(c.records, "/var/lib/ingero/ingero.db", db, 1), func(int) { o.call(c.t, 100) })
		if n := c.calls(db); n != "0" {
			c.t.Errorf("without %s: %s calls are recorded", without, n)
		}
	}
}

// dockerToo checks that the document says the same for Docker.
func (c *containerd) dockerToo() {
	c.t.Helper()
	words := map[string]bool{}
	for i, w := range c.docker {
		words[w] = true
		if i > 0 && strings.HasPrefix(w, c.docker[i-1]) {
			c.t.Errorf("%s twice", w)
		}
	}
	at := slices.Index(c.docker, imageName)
	if at < 0 || "ingero ingero "+strings.Join(c.docker[at+1:], " ") != c.records {
		c.t.Errorf("Docker: %q, ctr: %q", c.docker, c.records)
	}
	for _, w := range []string{"--pid=host", "--read-only", "--cap-drop", "ALL", "/var/lib/ingero:/var/lib/ingero"} {
		if !words[w] {
			c.t.Errorf("Docker: no %s in %q", w, c.docker)
		}
	}
	n := 0
	for i, w := range c.docker {
		if w == "--cap-add" {
			n++
			if _, ok := capabilities[c.docker[i+1]]; !ok {
				c.t.Errorf("Docker: %s", c.docker[i+1])
			}
		}
	}
	if n != len(capabilities) {
		c.t.Errorf("Docker: %d capabilities, want %d", n, len(capabilities))
	}
}

// check is what "ingero check" says.
func (c *containerd) check(without string) (ok bool, out string) {
	c.t.Helper()
	out, err := c.try(c.in(without, "check", "ingero check --json"))
	_, text, _ := strings.Cut(out, "{") // after what ctr says of the image
	text, _, _ = strings.Cut("{"+text, "\n}")
	var r struct{ OK bool }
	if e := json.Unmarshal([]byte(text+"\n}"), &r); e != nil {
		c.t.Fatalf("%v, %v: %s", err, e, out)
	}
	if r.OK != (err == nil) {
		c.t.Errorf("check is %v, and ends with %v", r.OK, err)
	}
	return r.OK, out
}

// outside is a program outside, of a user whose folder nobody else may enter.
type outside struct{ *cudastub.Victim }

func (c *containerd) outside() outside {
	c.t.Helper()
	const user = 65534
	dir := c.t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil { // the test's
		c.t.Fatal(err)
	}
	files, err := cudastub.Extract(filepath.Join(dir, "own"))
	if err != nil {
		c.t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nexec setpriv --reuid %d --regid %[1]d --clear-groups -- %s \"$@\"\n", user, files.Victim)
	files.Victim = filepath.Join(dir, "start")
	if err := errors.Join(
		os.Chmod(dir, 0o711), os.Chown(files.Dir, user, user), os.Chmod(files.Dir, 0o700),
		os.WriteFile(files.Victim, []byte(script), 0o755),
	); err != nil {
		c.t.Fatal(err)
	}
	v, err := files.Start(context.Background(), cudastub.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := v.Close(); err != nil {
			c.t.Error(err)
		}
	})
	if _, err := v.Do("pid"); err != nil { // it runs
		c.t.Fatal(err)
	}
	return outside{v}
}

func (o outside) call(t testing.TB, n int) {
	t.Helper()
	if _, err := o.Do(fmt.Sprintf("call cudaLaunchKernel %d", n)); err != nil {
		t.Fatal(err)
	}
}

// trace traces the program alone, so that other work on the machine is not slowed; during is called with the
// tracer's process while it does. What it does is ended by SIGINT, as by Ctrl+C.
func (c *containerd) trace(without string, o outside, what string, during func(pid int)) {
	c.t.Helper()
	ctx, stop := context.WithTimeout(c.t.Context(), longest)
	defer stop()
	cmd := c.line(ctx, c.in(without, "", what+" --pid "+strconv.Itoa(o.PID())))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	said := ""
	for !strings.Contains(said, "tracing") && lines.Scan() {
		said += lines.Text() + "\n"
	}
	var pid int
	for l := range strings.Lines(c.run("ctr tasks ls")) {
		if _, err := fmt.Sscanf(l, "ingero %d RUNNING", &pid); err == nil {
			break
		}
	}
	if pid == 0 {
		c.t.Fatalf("it does not run: %s%s", said, &stderr)
	}
	during(pid)
	c.run("ctr tasks kill -s SIGINT ingero")
	for lines.Scan() {
		said += lines.Text() + "\n"
	}
	if err := cmd.Wait(); err != nil {
		c.t.Errorf("%v: %s%s", err, said, &stderr)
	}
	c.t.Log(said)
}

// calls is how many launches a recording has.
func (c *containerd) calls(db string) string {
	c.t.Helper()
	return c.number(db, "select coalesce(sum(calls), 0) as n from op_seconds where op = 'cudaLaunchKernel'")
}

// number asks a recording for one.
func (c *containerd) number(db, sql string) string {
	c.t.Helper()
	out := c.run(c.in("", "query", `ingero query --format csv --db `+db+` "`+sql+`"`))
	n, ok := strings.CutPrefix(out, "n\n")
	if !ok {
		c.t.Fatalf("%s of %s: %s", sql, db, out)
	}
	return n
}

// traced records as the document says, for the first time or again.
func (c *containerd) traced(o outside, times int) {
	c.t.Helper()
	const calls = 1000
	c.trace("", o, c.records, func(pid int) {
		o.call(c.t, calls)
		c.checkRights(pid)
		if got := c.run("ctr containers ls"); !strings.Contains(got, " "+c.image+" ") {
			c.t.Errorf("not of %s: %s", c.image, got)
		}
	})
	const db = "/var/lib/ingero/ingero.db"
	if n := c.calls(db); n != strconv.Itoa(times*calls) {
		c.t.Errorf("%s calls are recorded, and %d were made", n, times*calls)
	}
	if n := c.number(db, "select count(*) as n from sessions"); n != strconv.Itoa(times) {
		c.t.Errorf("%s sessions are in the recording, want %d", n, times)
	}
	out := c.run(c.in("", "explain", "ingero explain --since all --db "+db))
	if !strings.Contains(out, fmt.Sprintf("%d,000 calls", times)) {
		c.t.Errorf("explain: %s", out)
	}
	c.t.Log(out)
}

// checkRights checks what the tracer's process may do.
func (c *containerd) checkRights(pid int) {
	c.t.Helper()
	file := func(name string) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil {
			c.t.Fatal(err)
		}
		return string(b)
	}
	var mask uint64
	for _, bit := range capabilities {
		mask |= 1 << bit
	}
	const none = "0000000000000000"
	want := map[string]string{
		"CapEff": fmt.Sprintf("%016x", mask), "CapPrm": fmt.Sprintf("%016x", mask), "CapBnd": fmt.Sprintf("%016x", mask),
		"CapAmb": none, "NoNewPrivs": "1", "Seccomp": "2",
	}
	for line := range strings.Lines(file("status")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if want[name] == strings.TrimSpace(value) {
			delete(want, name)
		}
	}
	if len(want) > 0 {
		c.t.Errorf("the tracer has not %v: %s", want, file("status"))
	}
	for name, same := range map[string]bool{"pid": true, "mnt": false, "net": false, "ipc": false} {
		here, err1 := os.Readlink("/proc/self/ns/" + name)
		there, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, name))
		if err := errors.Join(err1, err2); err != nil || (here == there) != same {
			c.t.Errorf("namespace %s: %s here and %s there (%v)", name, here, there, err)
		}
	}
	if comm := strings.TrimSpace(file("comm")); comm != "ingero" {
		c.t.Errorf("the process is %s", comm)
	}
	found := false
	for line := range strings.Lines(file("mountinfo")) {
		f := strings.Fields(line)
		if len(f) > 5 && f[4] == "/" {
			found = true
			if !slices.Contains(strings.Split(f[5], ","), "ro") {
				c.t.Errorf("the image can be written: %s", line)
			}
		}
	}
	if !found {
		c.t.Error("there is no root")
	}
}
