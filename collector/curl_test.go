package collector_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/ingero-io/ingero/cluster/fleetclient"
	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/internal/servetest"
)

// file writes a file for curl to send.
func file(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// pushFile writes a file with the push of a rank.
func pushFile(t *testing.T, rank int32) string {
	t.Helper()
	b, err := wire.AppendRequest(nil, push(rank))
	if err != nil {
		t.Fatal(err)
	}
	return file(t, "push", b)
}

const protobuf = "Content-Type: " + wire.TypeProtobuf

// all reports whether an answer says that the whole request was accepted.
func all(body string) bool {
	rejected, why, err := wire.ParseResponse([]byte(body))
	return rejected == 0 && why == "" && err == nil
}

// Published headers and GET endpoints as seen with curl, without an agent.
func TestWhatCurlSees(t *testing.T) {
	servetest.NeedCurl(t)
	c := start(t)
	ask := func(args ...string) (int, http.Header, string) {
		t.Helper()
		code, header, body, err := servetest.Curl(t, args...)
		if err != nil {
			t.Fatalf("%v\n%s", err, c.said)
		}
		return code, header, body
	}
	for rank := range int32(3) {
		code, header, body := ask("-H", protobuf, "--data-binary", "@"+pushFile(t, rank),
			"http://"+c.http+wire.PushPath+"?cluster_id=c")
		met := map[bool]string{false: "false", true: "true"}[rank == 2]
		if code != http.StatusOK || !all(body) || !strings.HasPrefix(header.Get("X-Ingero-Threshold"), "0.909") ||
			header.Get("X-Ingero-Quorum-Met") != met {
			t.Errorf("push %d: %d %v %q", rank, code, header, body)
		}
		if r, err := wire.ParseReply(header.Get("X-Ingero-Reply")); err != nil || r.Size != 4 || r.Quorum() != (rank == 2) {
			t.Errorf("push %d: %+v %v", rank, r, err)
		}
	}
	for _, at := range []string{c.http, c.api} {
		code, header, body := ask("http://" + at + "/api/v1/threshold?cluster_id=c&cohort=0000000000000007&node=node-a&rank=0&state=active")
		var poll struct {
			Threshold float64 `json:"threshold"`
			Quorum    bool    `json:"quorum_met"`
			Reply     string  `json:"reply"`
		}
		if err := json.Unmarshal([]byte(body), &poll); err != nil || code != http.StatusOK || !near(poll.Threshold, 1/1.1) ||
			!poll.Quorum || poll.Reply == "" || header.Get("X-Ingero-Quorum-Met") != "true" ||
			header.Get("Content-Type") != "application/json" {
			t.Errorf("poll: %d %v %q %v", code, header, body, err)
		}
		for path, want := range map[string]string{
			wire.PollPath + "?cluster_id=c":    `{"quorum_met":false}`,
			wire.CohortsPath + "?cluster_id=c": `"cluster_id":"c","cohort":"0000000000000007","ranks":4,"live":3`,
			fleetserver.OpenAPIPath:            `"openapi": "3.1.0"`,
		} {
			if code, _, body := ask("http://" + at + path); code != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%s: %d %q", path, code, body)
			}
		}
	}
	if code, _, body := ask("http://" + c.http + "/api/v1/threshold?node=n&cohort=x"); code != http.StatusBadRequest || !strings.Contains(body, "cohort") {
		t.Errorf("a wrong poll: %d %q", code, body)
	}
}

// Metrics of earlier agents arrive at Prometheus under their published names. Such a push is in no cohort.
func TestMetricsOfEarlierAgents(t *testing.T) {
	servetest.NeedCurl(t)
	c := start(t)
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("ingero.node.id", "old-1")
	rm.Resource().Attributes().PutStr("ingero.cluster.id", "c")
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().SetName(wire.Scope)
	names := []string{
		"ingero.node.health_score", "ingero.health.score", "ingero.node.throughput_ratio", "ingero.node.compute_efficiency",
		"ingero.node.memory_headroom", "ingero.node.cpu_availability", "ingero.node.degradation_warning",
	}
	for _, name := range names {
		m := sm.Metrics().AppendEmpty()
		m.SetName(name)
		m.SetEmptyGauge().DataPoints().AppendEmpty().SetDoubleValue(0.25)
	}
	var to pmetric.ProtoMarshaler
	b, err := to.MarshalMetrics(md)
	if err != nil {
		t.Fatal(err)
	}
	code, header, body, err := servetest.Curl(t, "-H", protobuf, "--data-binary", "@"+file(t, "old", b), "http://"+c.http+wire.PushPath)
	if err != nil || code != http.StatusOK || !all(body) || header.Get("X-Ingero-Threshold") != "" || header.Get("X-Ingero-Reply") != "" {
		t.Fatalf("%d %v %q %v", code, header, body, err)
	}
	var lines []string
	for _, name := range names {
		lines = append(lines, strings.ReplaceAll(name, ".", "_")+`{ingero_cluster_id="c",ingero_node_id="old-1"} 0.25`)
	}
	c.shows("http://"+c.prometheus+"/metrics", lines...)
	c.shows("http://"+c.metrics+"/metrics", `ingero_fleet_requests_total{what="pushed_published_gauges"} 1`, "ingero_fleet_cohorts 0")
}

// authority is a CA that writes certificates to files.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.issue("ca")
	return a
}

// issue writes NAME.pem and NAME.key. The first certificate is signed by itself.
func (a *authority) issue(name string) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(math.MaxInt64))
	if err != nil {
		a.t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: a.cert == nil,
		BasicConstraintsValid: true,
	}
	by, with := a.cert, a.key
	if by == nil {
		by, with = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by, key.Public(), with)
	if err != nil {
		a.t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for path, b := range map[string]*pem.Block{
		a.file(name + ".pem"): {Type: "CERTIFICATE", Bytes: der}, a.file(name + ".key"): {Type: "PRIVATE KEY", Bytes: raw},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return made, key
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// With a client CA configured, an agent needs a certificate signed by it at all three addresses, even with the token.
func TestMutualTLS(t *testing.T) {
	servetest.NeedCurl(t)
	ours, others := newAuthority(t), newAuthority(t)
	ours.issue("fleet")
	ours.issue("agent")
	others.issue("agent")
	c := startWith(t, []string{"config/ingero-fleet.yaml", "config/secure.yaml"}, "INGERO_FLEET_TOKEN=secret",
		"INGERO_FLEET_CERT="+ours.file("fleet.pem"), "INGERO_FLEET_KEY="+ours.file("fleet.key"),
		"INGERO_FLEET_CLIENT_CA="+ours.file("ca.pem"))
	for name, client := range map[string]struct {
		args []string
		code int // 0: the connection is refused
	}{
		"with the certificate": {[]string{"--cert", ours.file("agent.pem"), "--key", ours.file("agent.key")}, 200},
		"with none":            {nil, 0},
		"with a wrong one":     {[]string{"--cert", others.file("agent.pem"), "--key", others.file("agent.key")}, 0},
	} {
		for _, ask := range [][]string{
			{"-H", protobuf, "--data-binary", "@" + pushFile(t, 0), "https://" + c.http + wire.PushPath},
			{"https://" + c.http + wire.PollPath + "?cluster_id=c"},
			{"https://" + c.api + wire.CohortsPath},
		} {
			args := append([]string{"--cacert", ours.file("ca.pem"), "-H", "Authorization: Bearer secret"}, client.args...)
			code, header, body, err := servetest.Curl(t, append(args, ask...)...)
			if code != client.code || (err == nil) != (client.code != 0) {
				t.Errorf("%s: %s: %d %q %v\n%s", name, ask[len(ask)-1], code, body, err, c.said)
			}
			if pushed := len(ask) > 1 && code == 200; pushed != (header.Get("X-Ingero-Reply") != "") {
				t.Errorf("%s: %v", name, header)
			}
		}
	}
	args := []string{
		"--cacert", ours.file("ca.pem"), "--cert", ours.file("agent.pem"), "--key", ours.file("agent.key"),
		"https://" + c.api + wire.CohortsPath,
	}
	if code, _, _, err := servetest.Curl(t, args...); code != http.StatusUnauthorized || err != nil {
		t.Errorf("with the certificate, and without the token: %d %v", code, err)
	}
	right := fleetclient.Files{CA: ours.file("ca.pem"), Cert: ours.file("agent.pem"), Key: ours.file("agent.key")}
	for name, f := range map[string]fleetclient.Files{
		"right": right, "wrong": {CA: right.CA, Cert: others.file("agent.pem"), Key: others.file("agent.key")},
	} {
		for _, url := range []string{"https://" + c.http, "grpcs://" + c.grpc} {
			agent, err := fleetclient.New(fleetclient.Options{URL: url, Token: "secret", TLS: f})
			if err != nil {
				t.Fatal(err)
			}
			a, err := agent.Push(t.Context(), push(1))
			if passes := name == "right"; passes != (err == nil) || passes != (a.Reply != nil) {
				t.Errorf("%s, %s: %+v %v\n%s", url, name, a, err, c.said)
			}
			agent.Close()
		}
	}
}
