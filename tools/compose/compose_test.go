package compose_test

import (
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/file"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/rulefmt"
	"go.yaml.in/yaml/v3"
)

const (
	root   = "../.."
	folder = root + "/deploy/compose"
)

// secrets are what .env has.
var secrets = []string{"INGERO_FLEET_TOKEN", "INGERO_ECHO_TOKEN", "GRAFANA_PASSWORD"}

func load(t *testing.T, variables ...string) (*types.Project, error) {
	t.Helper()
	o, err := cli.NewProjectOptions([]string{folder + "/compose.yaml"}, cli.WithEnv(variables))
	if err != nil {
		t.Fatal(err)
	}
	return o.LoadProject(t.Context())
}

// project is what Compose makes of the file, with tokens.
func project(t *testing.T) *types.Project {
	t.Helper()
	var variables []string
	for _, s := range secrets {
		variables = append(variables, s+"=secret-of-"+s)
	}
	p, err := load(t, variables...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestItIsRefusedWithoutTokens(t *testing.T) {
	for _, missing := range secrets {
		var variables []string
		for _, s := range secrets {
			if s != missing {
				variables = append(variables, s+"=x")
			}
		}
		if _, err := load(t, variables...); err == nil || !strings.Contains(err.Error(), missing) ||
			!strings.Contains(err.Error(), "docs/install.md") {
			t.Errorf("without %s: %v", missing, err)
		}
	}
	// Each secret is where it belongs, and nothing else is secret.
	p := project(t)
	for name, service := range p.Services {
		for variable, value := range service.Environment {
			_, secret, found := strings.Cut(*value, "secret-of-")
			own := variable == secret || variable == "GF_SECURITY_ADMIN_PASSWORD" && secret == "GRAFANA_PASSWORD" ||
				variable == "INGERO_FLEET_OTLP_TOKEN" && secret == "INGERO_ECHO_TOKEN"
			if found != regexp.MustCompile("TOKEN|PASSWORD").MatchString(variable) || found && !own {
				t.Errorf("%s: %s is %q", name, variable, *value)
			}
		}
	}
}

func TestServicesAreRestricted(t *testing.T) {
	p := project(t)
	if got := p.ServiceNames(); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"echo", "fleet", "grafana", "prometheus"}) {
		t.Errorf("services %q", got)
	}
	published := map[string]string{}
	for name, s := range p.Services {
		if s.HealthCheck == nil || len(s.HealthCheck.Test) < 3 || s.Restart != "unless-stopped" || s.Privileged ||
			!slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 || s.NetworkMode == "host" {
			t.Errorf("%s: %+v", name, s)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: %+v is open to others", name, port)
			}
			if other, ok := published[port.Published]; ok {
				t.Errorf("%s and %s have port %s", name, other, port.Published)
			}
			published[port.Published] = name
		}
		repository, tag, _ := strings.Cut(s.Image, ":")
		if ours := strings.HasPrefix(repository, "ghcr.io/ingero-io/"); ours && tag != "dev" ||
			!ours && !regexp.MustCompile(`^v?\d+\.\d+\.\d+$`).MatchString(tag) {
			t.Errorf("%s: the version of %s is not pinned", name, s.Image)
		}
	}
	// What else runs on a host with a tracer.
	for _, port := range []string{"8080", "9090", "9464", "8082"} {
		if name, ok := published[port]; ok {
			t.Errorf("%s takes port %s of the node API, the tracer, straggler-sink or ingero-echo", name, port)
		}
	}
}

func TestMountedFilesExist(t *testing.T) {
	p := project(t)
	n := 0
	for name, s := range p.Services {
		for _, v := range s.Volumes {
			switch v.Type {
			case types.VolumeTypeBind:
				n++
				if i, err := os.Stat(v.Source); err != nil || !i.Mode().IsRegular() || !v.ReadOnly || i.Mode().Perm()&0o004 == 0 {
					t.Errorf("%s: %+v: %v", name, v, err)
				}
			case types.VolumeTypeVolume:
				if _, ok := p.Volumes[v.Source]; !ok {
					t.Errorf("%s: there is no volume %s", name, v.Source)
				}
			default:
				t.Errorf("%s: %+v", name, v)
			}
		}
	}
	if n < 8 {
		t.Errorf("only %d files are mounted", n)
	}
}

// mounted is the file that a service has at a path, or an empty string.
func mounted(s types.ServiceConfig, at string) string {
	for _, v := range s.Volumes {
		if ok, _ := path.Match(at, v.Target); ok && v.Type == types.VolumeTypeBind { // a wrong pattern matches nothing
			return v.Source
		}
	}
	return ""
}

// targets are the ports that are published of a service.
func targets(s types.ServiceConfig) (list []string) {
	for _, p := range s.Ports {
		list = append(list, strconv.Itoa(int(p.Target)))
	}
	return list
}

// TestFleetHasTheCollectorsPorts: those that its configuration has by default, so that all pages are right.
func TestFleetHasTheCollectorsPorts(t *testing.T) {
	s := project(t).Services["fleet"]
	file := read(t, root+"/collector/config/ingero-fleet.yaml")
	token := read(t, mounted(s, "/etc/ingero-fleet/token.yaml"))
	defaults := map[string]string{}
	for _, m := range regexp.MustCompile(`\$\{env:(\w+)(?::-([^}]*))?\}`).FindAllStringSubmatch(file+token, -1) {
		defaults[m[1]] = m[2]
	}
	if len(defaults) < 10 {
		t.Fatalf("only %q", defaults)
	}
	for variable, value := range s.Environment {
		byDefault, ok := defaults[variable]
		if !ok {
			t.Errorf("the collector's configuration has no %s", variable)
		}
		_, port, err := net.SplitHostPort(byDefault)
		if err != nil || variable == "INGERO_FLEET_OTLP" {
			continue
		}
		if _, got, err := net.SplitHostPort(*value); err != nil || got != port {
			t.Errorf("%s is %s; the collector's is %s", variable, *value, byDefault)
		}
	}
	if got := *s.Environment["INGERO_FLEET_METRICS_PORT"]; got != defaults["INGERO_FLEET_METRICS_PORT"] {
		t.Errorf("port %s for metrics", got)
	}
	if got := targets(s); !slices.Equal(got, []string{"4317", "4318", "8080"}) {
		t.Errorf("published %q", got)
	}
	if s.HealthCheck.Test[2] != "http://"+*s.Environment["INGERO_FLEET_HEALTH"]+"/" {
		t.Errorf("the check asks %s", s.HealthCheck.Test[2])
	}
	var keys map[string]any
	if err := yaml.Unmarshal([]byte(token), &keys); err != nil || keys["extensions"] == nil || keys["receivers"] == nil {
		t.Errorf("token.yaml: %v %v", keys, err)
	}
}

func TestEchoHasItsPorts(t *testing.T) {
	p := project(t)
	s := p.Services["echo"]
	source := read(t, root+"/echo/cmd/ingero-echo/serve.go")
	defaults := map[string]string{}
	for _, m := range regexp.MustCompile(`Var\(&f\.\w+, "([\w-]+)",(?: "127\.0\.0\.1:(\d+)")?`).FindAllStringSubmatch(source, -1) {
		defaults[m[1]] = m[2]
	}
	ports := map[string]string{}
	for _, arg := range s.Command[1:] {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		port, ok := defaults[name]
		if !ok {
			t.Errorf("ingero-echo serve has no flag %s", arg)
		}
		if port != "" {
			ports[name] = port
			if value != ":"+port {
				t.Errorf("%s; its default is port %s", arg, port)
			}
		}
	}
	if len(ports) != 4 || s.Command[0] != "serve" {
		t.Errorf("%q, ports %v", s.Command, ports)
	}
	if got := targets(s); !slices.Equal(got, []string{ports["mcp-addr"]}) {
		t.Errorf("published %q", got)
	}
	if want := "http://127.0.0.1:" + ports["health-addr"] + "/readyz"; s.HealthCheck.Test[2] != want {
		t.Errorf("the check asks %s", s.HealthCheck.Test[2])
	}
	if got := *p.Services["fleet"].Environment["INGERO_FLEET_OTLP"]; got != "echo:"+ports["otlp-addr"] {
		t.Errorf("fleet sends to %s", got)
	}
	if !strings.Contains(strings.Join(s.Command, " "), "--db-path="+s.Volumes[0].Target+"/") {
		t.Errorf("its file is not in the volume: %q", s.Command)
	}
}

// TestPrometheusIsConfigured reads its files by its own code, of the version that is started.
func TestPrometheusIsConfigured(t *testing.T) {
	p := project(t)
	s := p.Services["prometheus"]
	_, image, _ := strings.Cut(s.Image, ":v3.")
	minor, patch, _ := strings.Cut(image, ".")
	if n, err := strconv.Atoi(minor); err != nil || version(t) != "v0."+strconv.Itoa(300+n)+"."+patch {
		t.Errorf("%s is started, and the files are read by %s", s.Image, version(t))
	}
	c, err := config.Load(read(t, mounted(s, "/etc/prometheus/prometheus.yml")), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range c.RuleFiles {
		rules := mounted(s, pattern)
		groups, errs := rulefmt.ParseFile(rules, false)
		if len(errs) > 0 || len(groups.Groups) == 0 {
			t.Errorf("%s: %q: %v", pattern, rules, errs)
		}
	}
	jobs := map[string][]string{}
	for _, job := range c.ScrapeConfigs {
		for _, found := range job.ServiceDiscoveryConfigs {
			jobs[job.JobName] = append(jobs[job.JobName], addresses(t, s, found)...)
		}
	}
	want := map[string][]string{
		"prometheus": {"127.0.0.1:9090"}, "fleet": {"fleet:8889", "fleet:8888"}, "echo": {"echo:8080"},
		"nodes": {"host.docker.internal:9090", "host.docker.internal:9464"},
	}
	for name := range want {
		if !slices.Equal(jobs[name], want[name]) {
			t.Errorf("%s asks %q, want %q", name, jobs[name], want[name])
		}
	}
	if len(jobs) != len(want) || len(c.RuleFiles) != 1 {
		t.Errorf("%d jobs, rules %q", len(jobs), c.RuleFiles)
	}
	fleet := p.Services["fleet"].Environment
	if !strings.HasSuffix(*fleet["INGERO_FLEET_PROMETHEUS"], ":8889") || *fleet["INGERO_FLEET_METRICS_PORT"] != "8888" {
		t.Error("fleet serves its metrics elsewhere")
	}
	if !slices.Contains(p.Services["echo"].Command, "--health-addr=:8080") {
		t.Error("Echo serves its metrics elsewhere")
	}
}

// addresses are those that a part of a job finds.
func addresses(t *testing.T, s types.ServiceConfig, c discovery.Config) (list []string) {
	t.Helper()
	var groups []*targetgroup.Group
	switch c := c.(type) {
	case discovery.StaticConfig:
		groups = c
	case *file.SDConfig:
		for _, f := range c.Files {
			var more []*targetgroup.Group
			if err := yaml.Unmarshal([]byte(read(t, mounted(s, f))), &more); err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			groups = append(groups, more...)
		}
	default:
		t.Errorf("%T", c)
	}
	for _, g := range groups {
		for _, target := range g.Targets {
			list = append(list, string(target["__address__"]))
		}
	}
	return list
}

// version is that of Prometheus's code.
func version(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile(`github\.com/prometheus/prometheus (v\S+)`).FindStringSubmatch(read(t, "go.mod"))
	if m == nil {
		t.Fatal("go.mod names no version of Prometheus")
	}
	return m[1]
}

func TestGrafanaFindsDashboardsAndPrometheus(t *testing.T) {
	p := project(t)
	s := p.Services["grafana"]
	var sources struct {
		Datasources []struct{ UID, Type, URL string }
	}
	text := read(t, mounted(s, "/etc/grafana/provisioning/datasources/*.yaml"))
	if err := yaml.Unmarshal([]byte(text), &sources); err != nil || len(sources.Datasources) != 1 {
		t.Fatalf("%+v %v", sources, err)
	}
	own := targets(p.Services["prometheus"])
	if d := sources.Datasources[0]; d.Type != "prometheus" || len(own) != 1 || d.URL != "http://prometheus:"+own[0] {
		t.Errorf("%+v", d)
	}
	var providers struct {
		Providers []struct {
			Type    string
			Options struct{ Path string }
		}
	}
	text = read(t, mounted(s, "/etc/grafana/provisioning/dashboards/*.yaml"))
	if err := yaml.Unmarshal([]byte(text), &providers); err != nil || len(providers.Providers) != 1 {
		t.Fatalf("%+v %v", providers, err)
	}
	dashboards, err := filepath.Glob(root + "/deploy/grafana/*.json")
	if err != nil || len(dashboards) == 0 {
		t.Fatalf("%q %v", dashboards, err)
	}
	for _, d := range dashboards {
		at := path.Join(providers.Providers[0].Options.Path, filepath.Base(d))
		same, err := filepath.Abs(d)
		if got := mounted(s, at); err != nil || got != same || !json.Valid([]byte(read(t, got))) {
			t.Errorf("%s has %q, want %s", at, got, same)
		}
	}
	if got := targets(s); !slices.Equal(got, []string{"3000"}) {
		t.Errorf("published %q", got)
	}
}
