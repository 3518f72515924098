// Command chserver answers like a ClickHouse server, with the real engine in this process (libchdb), over HTTP and in
// ClickHouse's own protocol. It is for tests: it has one password for all users, no cluster, and no Keeper. Another one
// may ask it for rows (the function remote), but not for parts of sums. The engine runs the statements; the rest
// (protocols, settings, the form of errors) is made here. Answers cannot have intervals: the library that writes blocks
// leaves them out.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
)

func main() {
	library := flag.String("lib", "", "libchdb.so")
	folder := flag.String("path", "", "folder of the tables")
	addr := flag.String("addr", "127.0.0.1:0", "address to listen at for HTTP")
	native := flag.String("native", "127.0.0.1:0", "address to listen at for ClickHouse's own protocol")
	password := flag.String("password", "", "of every user")
	flag.Parse()
	if err := runServer(*library, *folder, *addr, *native, *password); err != nil {
		log.Fatal(err)
	}
}

func runServer(library, folder, addr, native, password string) error {
	folder, err := filepath.Abs(folder) // the engine cannot sync folders with a relative path
	if err != nil {
		return err
	}
	e, err := load(library, folder)
	if err != nil {
		return err
	}
	first, err := e.session() // the engine ends with its last session
	if err != nil {
		return err
	}
	defer first.end()
	if _, err := first.runStatement("create database if not exists default", "Null"); err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	n, err := net.Listen("tcp", native)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr(), n.Addr())
	s := server{e, password, folder}
	failed := make(chan error, 2)
	go func() { failed <- s.serveNative(n) }()
	go func() { failed <- (&http.Server{Handler: s, ReadHeaderTimeout: time.Minute}).Serve(l) }()
	return <-failed
}

type server struct {
	engine   *engine
	password string
	folder   string
}

// denied is ClickHouse's answer to a wrong password.
const denied = "Code: 516. DB::Exception: default: Authentication failed: password is incorrect, or there is no user " +
	"with such name. (AUTHENTICATION_FAILED)"

// ServeHTTP runs a request's statement in its own session.
func (s server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.knows(r) {
		w.Header().Set("X-ClickHouse-Exception-Code", "516")
		http.Error(w, denied, http.StatusForbidden)
		return
	}
	out, err := s.answer(r)
	if err != nil {
		w.Header().Set("X-ClickHouse-Exception-Code", code(err))
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(out) // on error the peer has gone
}

// knows reports whether a request has the password, in one of the places where ClickHouse accepts it.
func (s server) knows(r *http.Request) bool {
	_, basic, _ := r.BasicAuth()
	return slices.Contains([]string{r.Header.Get("X-ClickHouse-Key"), r.URL.Query().Get("password"), basic}, s.password)
}

var codes = regexp.MustCompile(`^Code: (\d+)`)

func code(err error) string {
	if m := codes.FindStringSubmatch(err.Error()); m != nil {
		return m[1]
	}
	return "1002"
}

// plain are request parameters that are not settings.
var plain = []string{
	"query", "default_format", "database", "user", "password", "client_protocol_version", "query_id", "session_id",
	"session_timeout", "session_check", "compress", "decompress", "enable_http_compression",
}

func (s server) answer(r *http.Request) ([]byte, error) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		body = z
	}
	b, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	statement := q.Get("query")
	if statement == "" {
		statement, b = string(b), nil
	}
	if statement == "" {
		return []byte("Ok.\n"), nil
	}
	session, err := s.engine.session()
	if err != nil {
		return nil, err
	}
	defer session.end()
	if err := settle(session, q); err != nil {
		return nil, err
	}
	if len(b) > 0 {
		return s.insert(session, statement, b)
	}
	return choose(session, statement, r)
}

// settle sets a request's parameters as settings of a session.
func settle(session *session, q url.Values) error {
	if db := q.Get("database"); db != "" {
		if _, err := session.runStatement("use "+identifier(db), "Null"); err != nil {
			return err
		}
	}
	var all, last []string
	for name := range q {
		if slices.Contains(plain, name) {
			continue
		}
		one := identifier(name) + " = " + literal(q.Get(name))
		if name == "readonly" {
			last = append(last, one)
			continue
		}
		all = append(all, one)
	}
	for _, one := range [][]string{all, last} {
		if len(one) == 0 {
			continue
		}
		if _, err := session.runStatement("set "+strings.Join(one, ", "), "Null"); err != nil {
			return err
		}
	}
	return nil
}

func identifier(name string) string {
	return "`" + strings.NewReplacer("\\", `\\`, "`", "\\`").Replace(name) + "`"
}

func literal(text string) string {
	return "'" + strings.NewReplacer("\\", `\\`, "'", `\'`).Replace(text) + "'"
}

var inserts = regexp.MustCompile(`(?is)^\s*(INSERT\s+INTO\s+.*?)\s+FORMAT\s+(\w+)\s*$`)

// insert inserts a request's data through a file: the library takes no data with a statement.
func (s server) insert(session *session, statement string, data []byte) ([]byte, error) {
	m := inserts.FindStringSubmatch(statement)
	if m == nil {
		return nil, errors.New("Code: 62. DB::Exception: there is data, and no INSERT … FORMAT")
	}
	f, err := os.CreateTemp(s.folder, "insert-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return session.runStatement(m[1]+" FROM INFILE "+literal(f.Name())+" FORMAT "+m[2], "Null")
}

var formats = regexp.MustCompile(`(?is)\sFORMAT\s+(\w+)\s*$`)

func choose(session *session, statement string, r *http.Request) ([]byte, error) {
	format := "TabSeparated"
	if f := r.URL.Query().Get("default_format"); f != "" {
		format = f
	}
	if f := r.Header.Get("X-ClickHouse-Format"); f != "" {
		format = f
	}
	if m := formats.FindStringSubmatch(statement); m != nil {
		format = m[1]
	}
	out, err := session.runStatement(statement, format)
	if err != nil || format != "Native" {
		return out, err
	}
	revision, err := strconv.ParseUint(r.URL.Query().Get("client_protocol_version"), 10, 64)
	if err != nil {
		return out, nil // otherwise it stays as the engine wrote it
	}
	return encode(out, revision)
}

// encode writes blocks for a client's revision.
func encode(blocks []byte, revision uint64) ([]byte, error) {
	from, to := chproto.NewReader(bytes.NewReader(blocks)), new(chproto.Buffer)
	for {
		block := proto.NewBlock()
		switch err := block.Decode(from, 0); {
		case errors.Is(err, io.EOF):
			return to.Buf, nil
		case err != nil:
			return nil, fmt.Errorf("read the engine's answer: %w", err)
		}
		if err := encodeBlock(to, block, revision); err != nil {
			return nil, fmt.Errorf("write the answer: %w", err)
		}
	}
}

// encodeBlock writes a block, including columns that the library leaves out: those with nothing but NULL.
func encodeBlock(to *chproto.Buffer, block *proto.Block, revision uint64) error {
	if err := block.EncodeHeader(to, revision); err != nil {
		return err
	}
	for i, c := range block.Columns {
		if err := block.EncodeColumn(to, revision, i); err != nil {
			return err
		}
		if c.Type() == "Nullable(Nothing)" {
			to.PutRaw(bytes.Repeat([]byte("0"), c.Rows()))
		}
	}
	return nil
}
