package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go/compress"
	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
)

// revision is the supported revision of ClickHouse's own protocol. It is an old one with fewer fields; clients adapt
// to the server.
const revision = 54453

// serveNative serves ClickHouse's own protocol.
func (s server) serveNative(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer func() { _ = c.Close() }() // everything was written, or failed
			p := &peer{server: s, conn: c, from: chproto.NewReader(c)}
			if err := p.serve(); !errors.Is(err, io.EOF) {
				log.Printf("%s: %v", c.RemoteAddr(), err)
			}
		}()
	}
}

// peer is a client's connection.
type peer struct {
	server
	conn     net.Conn
	from     *chproto.Reader
	to       chproto.Buffer
	database string
}

// serve answers until the client closes, or makes an error.
func (p *peer) serve() error {
	if err := p.hello(); err != nil {
		return err
	}
	for {
		code, err := p.from.UVarInt()
		if err != nil {
			return err
		}
		switch chproto.ClientCode(code) {
		case chproto.ClientCodePing:
			chproto.ServerCodePong.Encode(&p.to)
		case chproto.ClientCodeQuery:
			if err := p.query(); err != nil {
				return err
			}
		case chproto.ClientTablesStatusRequest:
			if err := p.found(); err != nil {
				return err
			}
		case chproto.ClientCodeCancel: // what was running has ended
		default:
			return fmt.Errorf("a packet of kind %d", code)
		}
		if err := p.flush(); err != nil {
			return err
		}
	}
}

func (p *peer) flush() error {
	_, err := p.conn.Write(p.to.Buf)
	p.to.Reset()
	return err
}

func (p *peer) hello() error {
	code, err := p.from.UVarInt()
	if err != nil {
		return err
	}
	var h chproto.ClientHello
	if chproto.ClientCode(code) != chproto.ClientCodeHello {
		return fmt.Errorf("it begins with a packet of kind %d", code)
	}
	if err := h.Decode(p.from); err != nil {
		return err
	}
	p.database = h.Database
	if h.Password != p.password {
		p.fail(errors.New(denied))
		return errors.Join(p.flush(), io.EOF)
	}
	if err := p.knowsDatabase(); err != nil {
		p.fail(err)
		return errors.Join(p.flush(), io.EOF)
	}
	hello := chproto.ServerHello{
		Name: "ClickHouse", Major: 26, Minor: 7, Revision: revision, Timezone: "UTC", DisplayName: "test",
	}
	hello.EncodeAware(&p.to, revision)
	return p.flush()
}

func (p *peer) knowsDatabase() error {
	session, err := p.engine.session()
	if err != nil {
		return err
	}
	defer session.end()
	return settle(session, url.Values{"database": {p.database}})
}

// fail answers with an error of the engine.
func (p *peer) fail(err error) {
	n, _ := strconv.Atoi(code(err)) // always a number
	chproto.ServerCodeException.Encode(&p.to)
	e := chproto.Exception{Code: chproto.Error(n), Name: "DB::Exception", Message: err.Error()}
	e.EncodeAware(&p.to, revision)
}

// query runs a statement. It returns errors of the connection; those of the statement are answered.
func (p *peer) query() error {
	q, err := p.request()
	if err != nil {
		return err
	}
	tables, err := p.temporary(q.compressed)
	if err != nil {
		return err
	}
	settings := url.Values{"database": {p.database}}
	for _, one := range q.settings {
		settings.Set(one.Key, one.Value)
	}
	session, err := p.engine.session()
	if err != nil {
		return err
	}
	defer session.end()
	if err := settle(session, settings); err != nil {
		p.fail(err)
		return nil
	}
	for name, blocks := range tables {
		if err := p.make(session, name, blocks); err != nil {
			p.fail(err)
			return nil
		}
	}
	if m := nativeInserts.FindStringSubmatch(q.statement); m != nil {
		return p.insertBlocks(session, m[1], m[2], q.compressed)
	}
	out, err := session.runStatement(q.statement, "Native")
	if err != nil {
		p.fail(err)
		return nil
	}
	if len(out) == 0 && selects.MatchString(q.statement) { // a server sends the columns even without rows
		names, types, err := described(session, "describe table ("+q.statement+")")
		if err != nil {
			return err
		}
		if err := p.send(header(names, types), q.compressed); err != nil {
			return err
		}
	}
	if err := p.answer(out, q.compressed); err != nil {
		return err
	}
	chproto.ServerCodeEndOfStream.Encode(&p.to)
	return nil
}

// send writes a block of an answer.
func (p *peer) send(block []byte, compressed bool) error {
	chproto.ServerCodeData.Encode(&p.to)
	p.to.PutString("") // no temporary table
	if !compressed {
		p.to.PutRaw(block)
		return nil
	}
	w := compress.NewWriter(0, compress.LZ4)
	if err := w.Compress(block); err != nil {
		return err
	}
	p.to.PutRaw(w.Data)
	return nil
}

// answer sends the engine's output.
func (p *peer) answer(blocks []byte, compressed bool) error {
	from := chproto.NewReader(bytes.NewReader(blocks))
	for {
		b := proto.NewBlock()
		if err := b.Decode(from, 0); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var out chproto.Buffer
		if err := encodeBlock(&out, b, revision); err != nil {
			return err
		}
		if err := p.send(out.Buf, compressed); err != nil {
			return err
		}
	}
}

var selects = regexp.MustCompile(`(?is)^\s*(SELECT|WITH)\s`)

var nativeInserts = regexp.MustCompile(`(?is)^\s*INSERT\s+INTO\s+(\S+)\s*\(([^)]*)\)\s*(?:VALUES|FORMAT\s+Native)?\s*$`)

// insertBlocks sends a client the columns' types, reads its blocks up to an empty one, and inserts them.
func (p *peer) insertBlocks(session *session, table, columns string, compressed bool) error {
	types, err := columnTypes(session, table, columns)
	if err != nil {
		p.fail(err)
		return nil
	}
	if err := errors.Join(p.send(types, compressed), p.flush()); err != nil {
		return err
	}
	var data chproto.Buffer
	for {
		_, _, b, err := p.packet(compressed)
		if err != nil {
			return err
		}
		if b.Rows() == 0 {
			break
		}
		if err := b.Encode(&data, 0); err != nil {
			return err
		}
	}
	if _, err := p.insert(session, "INSERT INTO "+table+" ("+columns+") FORMAT Native", data.Buf); err != nil {
		p.fail(err)
		return nil
	}
	chproto.ServerCodeEndOfStream.Encode(&p.to)
	return nil
}

// columnTypes returns a block without rows, with columns of a table.
func columnTypes(session *session, table, columns string) ([]byte, error) {
	names, types, err := described(session, "select name, type from system.columns where database = currentDatabase() "+
		"and table = "+literal(strings.Trim(table, "`")))
	if err != nil {
		return nil, err
	}
	var some, theirs []string
	for name := range strings.SplitSeq(columns, ",") {
		name = strings.Trim(strings.TrimSpace(name), "`")
		i := slices.Index(names, name)
		if i < 0 {
			return nil, fmt.Errorf("Code: 16. DB::Exception: No such column %s in table %s", name, table)
		}
		some, theirs = append(some, name), append(theirs, types[i])
	}
	return header(some, theirs), nil
}

// described returns the names and types that a statement about columns returns.
func described(session *session, statement string) (names, types []string, err error) {
	out, err := session.runStatement(statement, "TSVRaw")
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		names, types = append(names, fields[0]), append(types, fields[1])
	}
	return names, types, nil
}

// header returns a block without rows.
func header(names, types []string) []byte {
	var b chproto.Buffer
	chproto.BlockInfo{BucketNum: -1}.Encode(&b)
	b.PutInt(len(names))
	b.PutInt(0) // rows
	for i := range names {
		b.PutString(names[i])
		b.PutString(types[i])
	}
	return b.Buf
}
