package fleetclient

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math"
	"math/big"
	randv2 "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

func client(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// fake returns a client of a fleet that answers with h. The client does not wait before a retry.
func fake(t *testing.T, h http.HandlerFunc) (c *Client, waits *[]time.Duration) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c = client(t, Options{URL: s.URL})
	waits = &[]time.Duration{}
	c.wait = func(_ context.Context, d time.Duration) error {
		*waits = append(*waits, d)
		return nil
	}
	return c, waits
}

func some() *wire.Push { return of("n") }

// of is a push of a node.
func of(node string) *wire.Push {
	return &wire.Push{Node: node, Cluster: "c 1", Health: health.Push{
		Cohort: 7, Node: wire.Node(node), Sent: time.Hour, Size: 3, Width: 1, Merge: 1,
		Ranks: []health.RankPush{{Rank: 1, Newest: 5, Interval: 0.5}},
	}}
}

// TestJob runs a job of 8 ranks on 8 nodes, in virtual time, through client and server.
func TestJob(t *testing.T) {
	for _, scheme := range []string{"http", "grpc"} {
		t.Run(scheme, func(t *testing.T) { runJob(t, scheme) })
	}
}

// serve serves a fleet, and returns its address.
func serve(t *testing.T, scheme string, fleet *fleetserver.Server, o ...grpc.ServerOption) string {
	t.Helper()
	if scheme == "http" {
		s := httptest.NewServer(fleet.Handler())
		t.Cleanup(s.Close)
		return s.URL
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := fleet.GRPC(o...)
	go g.Serve(l)
	t.Cleanup(g.Stop)
	return scheme + "://" + l.Addr().String()
}

func runJob(t *testing.T, scheme string) {
	const cohort, slow, silent = 77, 3, 6
	now := time.Hour
	var told []fleetserver.Told
	fleet := fleetserver.New(fleetserver.Options{
		Token: "secret", Now: func() time.Duration { return now }, Told: func(v fleetserver.Told) { told = append(told, v) },
	})
	c := client(t, Options{URL: serve(t, scheme, fleet), Token: "secret"})
	random := randv2.New(randv2.NewPCG(1, 2))
	var ranks []*health.Rank
	for i := range 8 {
		ranks = append(ranks, health.NewRank(health.RankOptions{Cohort: cohort, Rank: int32(i)}))
	}
	var verdicts []health.Verdict
	ask := func(i int, a wire.Answer, err error) {
		if err != nil || a.Reply == nil {
			t.Fatalf("rank %d: %+v %v", i, a, err)
		}
		verdicts = ranks[i].Take(now, a.Reply, verdicts)
	}
	next := now
	for seq := range uint64(400) {
		own := make([]time.Duration, len(ranks))
		longest := time.Duration(0)
		for i := range own {
			seconds := 0.2 * math.Exp(0.02*random.NormFloat64())
			if i == slow && seq > 250 {
				seconds *= 1.3
			}
			own[i] = time.Duration(seconds * float64(time.Second))
			longest = max(longest, own[i])
		}
		now += longest
		for i, r := range ranks {
			r.Step(health.Step{Seq: seq, End: now, Own: own[i], Wait: longest - own[i], Measured: health.MeasuredDevice})
		}
		if now < next {
			continue
		}
		next += health.PushEvery
		for i, r := range ranks {
			node := "node-" + string(rune('a'+i))
			p := wire.Push{Node: node, Cluster: "c", WorldSize: 8, Health: health.Push{
				Cohort: cohort, Node: wire.Node(node), Sent: now, Size: 8, Width: r.Width(), Merge: r.Merge(), Echo: r.Echo(),
				Ranks: make([]health.RankPush, 1),
			}}
			if r.Push(&p.Health.Ranks[0]); p.Health.Ranks[0].Interval == 0 || i == silent && seq > 300 {
				continue
			}
			a, err := c.Push(t.Context(), &p)
			ask(i, a, err)
			if r.Polls() && c.Polls() {
				a, err := c.Poll(t.Context(), wire.Poll{Cluster: "c", Node: node, Health: r.Poll(p.Health.Node)})
				ask(i, a, err)
			}
		}
		fleet.Sweep()
	}
	if len(verdicts) != 1 || verdicts[0].Kind != health.KindStraggler || verdicts[0].Rank != slow {
		t.Errorf("verdicts: %+v", verdicts)
	}
	if len(told) != 1 || told[0].Kind != health.KindMissing || told[0].NodeName != "node-g" {
		t.Errorf("told: %+v", told)
	}
	if n := c.Counts(); n.Failed != 0 || n.Answered != fleet.Counts().Pushes+fleet.Counts().Polls || !c.Reachable() {
		t.Errorf("client %+v, fleet %+v", n, fleet.Counts())
	}
}

func TestRetryOnceOnErrorsOfTheNetwork(t *testing.T) {
	var asked, drop atomic.Int32
	drop.Store(1)
	c, waits := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) <= drop.Load() {
			panic(http.ErrAbortHandler)
		}
		if r.URL.RawQuery != "cluster_id=c+1" || r.Header.Get("Content-Type") != wire.TypeProtobuf {
			t.Errorf("%s %v", r.URL, r.Header)
		}
	})
	_, err := c.Push(t.Context(), some())
	if err != nil || asked.Load() != 2 || len(*waits) != 1 || (*waits)[0] != retryAfter {
		t.Errorf("%v, asked %d times, waited %v", err, asked.Load(), *waits)
	}
	asked.Store(0)
	drop.Store(100)
	for i := range unreachableAfter {
		if !c.Reachable() {
			t.Errorf("not reachable after %d", i)
		}
		if _, err := c.Push(t.Context(), some()); err == nil || !strings.Contains(err.Error(), "ask the fleet") {
			t.Error(err)
		}
	}
	if asked.Load() != 2*unreachableAfter || c.Reachable() {
		t.Errorf("asked %d times, reachable %v", asked.Load(), c.Reachable())
	}
	drop.Store(0)
	if _, err := c.Push(t.Context(), some()); err != nil || !c.Reachable() {
		t.Errorf("%v, reachable %v", err, c.Reachable())
	}
	if n := c.Counts(); n.Answered != 2 || n.Failed != 3 || n.Retried != 4 {
		t.Errorf("%+v", n)
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	c := client(t, Options{URL: "http://" + address})
	if _, err := c.Poll(t.Context(), wire.Poll{Cluster: "c"}); err == nil || c.Counts().Retried != 1 {
		t.Errorf("%v %+v", err, c.Counts())
	}
}

func TestCallIsLimited(t *testing.T) {
	end := make(chan struct{})
	c, waits := fake(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-end:
		}
	})
	defer close(end)
	c.limit = 20 * time.Millisecond
	if _, err := c.Poll(t.Context(), wire.Poll{}); err == nil || err.Error() != "the fleet did not answer within 20ms" || len(*waits) != 0 {
		t.Errorf("%v %v", err, *waits)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Poll(ctx, wire.Poll{}); !errors.Is(err, context.Canceled) || c.Counts().Failed != 1 {
		t.Errorf("%v %+v", err, c.Counts())
	}
}

func TestFleetThatAsksToWait(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	code, after, asked := 0, "", 0
	c, _ := fake(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Retry-After", after)
		w.WriteHeader(code)
	})
	c.now = func() time.Time { return now }
	for _, s := range []struct {
		code  int
		after string
		want  time.Duration
	}{
		{429, "3", 3 * time.Second},
		{503, "Fri, 02 Jan 2026 03:04:15 GMT", 10 * time.Second},
		{503, "86400", maxHold},
		{503, "Fri, 02 Jan 2099 03:04:15 GMT", maxHold},
		{503, "Fri, 02 Jan 2009 03:04:15 GMT", 0},
		{503, "-1", 0},
		{503, "soon", 0},
		{503, "99999999999999999999", 0},
		{500, "3", 0},
		{200, "3", 0},
	} {
		code, after, asked, c.hold = s.code, s.after, 0, time.Time{}
		if _, err := c.Push(t.Context(), some()); (err == nil) != (code == 200) || asked != 1 {
			t.Errorf("%+v: asked %d times, %v", s, asked, err)
		}
		_, err := c.Poll(t.Context(), wire.Poll{})
		held, ok := errors.AsType[*HeldError](err)
		if ok != (s.want > 0) || ok && (held.For != s.want || asked != 1) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if c.Counts().Held != 4 {
		t.Errorf("%+v", c.Counts())
	}
}

func TestRedirectsAreRefused(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	c, waits := fake(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	for _, ask := range []func() (wire.Answer, error){
		func() (wire.Answer, error) { return c.Push(t.Context(), some()) },
		func() (wire.Answer, error) { return c.Poll(t.Context(), wire.Poll{}) },
	} {
		_, err := ask()
		if e, ok := errors.AsType[*StatusError](err); !ok || e.Code != 307 || !strings.Contains(err.Error(), "redirect") {
			t.Error(err)
		}
	}
	if elsewhere != 0 || len(*waits) != 0 || c.Counts().Failed != 2 {
		t.Errorf("asked elsewhere %d times, waited %v, %+v", elsewhere, *waits, c.Counts())
	}
}

func TestAnswersThatAreWrong(t *testing.T) {
	var h http.HandlerFunc
	c, _ := fake(t, func(w http.ResponseWriter, r *http.Request) { h(w, r) })
	push := func() (wire.Answer, error) { return c.Push(t.Context(), some()) }
	poll := func() (wire.Answer, error) { return c.Poll(t.Context(), wire.Poll{}) }
	pair := func(w http.ResponseWriter) {
		w.Header().Set("X-Ingero-Threshold", "0.5")
		w.Header().Set("X-Ingero-Quorum-Met", "true")
	}
	for name, s := range map[string]struct {
		ask  func() (wire.Answer, error)
		h    http.HandlerFunc
		why  string
		pair bool
	}{
		"newer reply": {push, func(w http.ResponseWriter, _ *http.Request) {
			pair(w)
			w.Header().Set("X-Ingero-Reply", "Ag")
		}, "reply.version: is 2, which is newer than 1, the only one known here", true},
		"status and headers": {push, func(w http.ResponseWriter, _ *http.Request) {
			pair(w)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(wire.AppendStatus(nil, "bad\nthing"))
		}, "the fleet answers with HTTP status 400: bad?thing", true},
		"part": {push, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(wire.AppendResponse(nil, 1, "full"))
		}, "the fleet answers with HTTP status 200: full", false},
		"long headers": {push, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Ingero-Reply", strings.Repeat("A", 64<<10))
		}, "exceeded", false},
		"not protobuf": {push, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>"))
		}, "it is not a message of OTLP metrics, or truncated", false},
		"not JSON": {poll, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>"))
		}, "the answer is not JSON of the form that is expected", false},
		"long JSON": {poll, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"threshold":0.5,"quorum_met":true` + strings.Repeat(" ", 9000) + "}"))
		}, "the answer has 9035 bytes; 8192 at most", false},
		"status of a poll": {poll, func(w http.ResponseWriter, _ *http.Request) {
			pair(w)
			http.Error(w, "secret words", http.StatusTeapot)
		}, "the fleet answers with HTTP status 418", true},
	} {
		h = s.h
		a, err := s.ask()
		if err == nil || !strings.Contains(err.Error(), s.why) || math.IsNaN(a.Threshold) == s.pair || a.Reply != nil {
			t.Errorf("%s: %+v %v", name, a, err)
		}
	}
	if n := c.Counts(); n.Faults[wire.Version] != 1 || n.Faults[wire.Malformed] != 2 || n.Faults[wire.Limit] != 1 {
		t.Errorf("%+v", n)
	}
	bad := some()
	bad.Node = ""
	before := c.Counts()
	if _, err := c.Push(t.Context(), bad); err == nil || err.Error() != "ingero.node.id: is missing" || c.Counts() != before {
		t.Errorf("%v", err)
	}
}

func TestWrongToken(t *testing.T) {
	s := httptest.NewServer(fleetserver.New(fleetserver.Options{Token: "right"}).Handler())
	defer s.Close()
	_, err := client(t, Options{URL: s.URL, Token: "wrong"}).Push(t.Context(), some())
	if e, ok := errors.AsType[*StatusError](err); !ok || e.Code != http.StatusUnauthorized {
		t.Error(err)
	}
	if a, err := client(t, Options{URL: s.URL, Token: "right"}).Push(t.Context(), some()); err != nil || a.Reply == nil {
		t.Errorf("%+v %v", a, err)
	}
}

func TestAddress(t *testing.T) {
	for _, u := range []string{"", "fleet:4318", "ftp://fleet", "https://", "https://user:secret@fleet", "https://fleet?x=1", "https://fleet#x", "http://\x00"} {
		if _, err := New(Options{URL: u}); err == nil {
			t.Errorf("%q is accepted", u)
		}
	}
	var path string
	c, _ := fake(t, func(_ http.ResponseWriter, r *http.Request) { path = r.URL.Path })
	c.http.base += "/otlp"
	if _, err := c.Push(t.Context(), some()); err != nil || path != "/otlp/v1/metrics" {
		t.Errorf("%s %v", path, err)
	}
}

// authority is a CA.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.make(name, nil, nil)
	return a
}

// make writes a certificate and its key, signed by the CA or, without one, by itself.
func (a *authority) make(
	name string, by *x509.Certificate, key *ecdsa.PrivateKey,
) (*x509.Certificate, *ecdsa.PrivateKey) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:        by == nil, BasicConstraintsValid: true,
	}
	if by == nil {
		by, key = c, k
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by, k.Public(), key)
	if err != nil {
		a.t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, b := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(filepath.Join(a.dir, file), pem.EncodeToMemory(b), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return made, k
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// authorities returns two CAs with certificates for a fleet and an agent each, and a fleet's configuration that
// accepts only the first one's agents.
func authorities(t *testing.T) (ours, others *authority, conf *tls.Config) {
	t.Helper()
	ours, others = newAuthority(t, "ca"), newAuthority(t, "ca")
	for _, a := range []*authority{ours, others} {
		a.make("fleet", a.cert, a.key)
		a.make("agent", a.cert, a.key)
	}
	pair, err := tls.LoadX509KeyPair(ours.file("fleet.pem"), ours.file("fleet.key"))
	if err != nil {
		t.Fatal(err)
	}
	agents := x509.NewCertPool()
	agents.AddCert(ours.cert)
	return ours, others, &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: agents, ClientAuth: tls.RequireAndVerifyClientCert,
	}
}

func TestMutualTLS(t *testing.T) {
	ours, others, conf := authorities(t)
	s := httptest.NewUnstartedServer(fleetserver.New(fleetserver.Options{}).Handler())
	s.TLS = conf
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	all := Files{CA: ours.file("ca.pem"), Cert: ours.file("agent.pem"), Key: ours.file("agent.key")}
	if a, err := client(t, Options{URL: s.URL, TLS: all}).Push(t.Context(), some()); err != nil || a.Reply == nil {
		t.Errorf("%+v %v", a, err)
	}
	for name, f := range map[string]Files{
		"none":              {},
		"another CA":        {others.file("ca.pem"), all.Cert, all.Key},
		"another's agent":   {all.CA, others.file("agent.pem"), others.file("agent.key")},
		"another's by both": {others.file("ca.pem"), others.file("agent.pem"), others.file("agent.key")},
	} {
		if _, err := client(t, Options{URL: s.URL, TLS: f}).Push(t.Context(), some()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for why, f := range map[string]Files{
		"belong together":    {CA: all.CA, Key: all.Key},
		"or none":            {Cert: all.Cert, Key: all.Key},
		"give all":           {CA: all.CA, Cert: all.Cert},
		"read the cert":      {all.CA, all.Cert, others.file("agent.key")},
		"certificates of":    {ours.file("absent.pem"), all.Cert, all.Key},
		"has no certificate": {all.Key, all.Cert, all.Key},
	} {
		if _, err := New(Options{URL: s.URL, TLS: f}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
	}
	if _, err := New(Options{URL: "http://fleet", TLS: all}); err == nil || !strings.Contains(err.Error(), "without TLS") {
		t.Error(err)
	}
}

// An agent that authenticates with a token needs no certificate of its own to check the fleet's.
func TestTLSWithAToken(t *testing.T) {
	ours, others, conf := authorities(t)
	conf.ClientAuth = tls.NoClientCert
	s := httptest.NewUnstartedServer(fleetserver.New(fleetserver.Options{Token: "secret"}).Handler())
	s.TLS = conf
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	push := func(token string, f Files) error {
		_, err := client(t, Options{URL: s.URL, Token: token, TLS: f}).Push(t.Context(), some())
		return err
	}
	if err := push("secret", Files{CA: ours.file("ca.pem")}); err != nil {
		t.Error(err)
	}
	if push("another", Files{CA: ours.file("ca.pem")}) == nil || push("secret", Files{CA: others.file("ca.pem")}) == nil {
		t.Error("accepted")
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	s := httptest.NewServer(fleetserver.New(fleetserver.Options{}).Handler())
	defer s.Close()
	c := client(t, Options{URL: s.URL})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				if _, err := c.Push(t.Context(), some()); err != nil || !c.Reachable() {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if c.Counts().Answered != 200 {
		t.Errorf("%+v", c.Counts())
	}
}

// BenchmarkPush measures a push of 8 ranks over loopback, with its answer: client and server together.
func BenchmarkPush(b *testing.B) {
	s := httptest.NewServer(fleetserver.New(fleetserver.Options{Token: "t"}).Handler())
	defer s.Close()
	c, err := New(Options{URL: s.URL, Token: "t"})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	p := some()
	r := p.Health.Ranks[0]
	p.Health.Ranks, p.Health.Size = nil, 8
	for i := range 8 {
		r.Rank = int32(i)
		p.Health.Ranks = append(p.Health.Ranks, r)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Health.Sent++
		if a, err := c.Push(b.Context(), p); err != nil || a.Reply == nil {
			b.Fatal(err)
		}
	}
}
