package main

import (
	"errors"
	"fmt"
	"os"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
)

// request is a statement of a client, or of another server that has a table of the engine Distributed.
type request struct {
	statement  string
	settings   []chproto.Setting
	compressed bool
}

// fields reads a packet's fields, until one cannot be read.
type fields struct {
	from *chproto.Reader
	err  error
}

// texts reads some texts, and returns the last one.
func (f *fields) texts(n int) (text string) {
	for ; n > 0 && f.err == nil; n-- {
		text, f.err = f.from.Str()
	}
	return text
}

// numbers reads some numbers, and returns the last one.
func (f *fields) numbers(n int) (number int) {
	for ; n > 0 && f.err == nil; n-- {
		number, f.err = f.from.Int()
	}
	return number
}

// bytes reads some bytes, and returns the last one.
func (f *fields) bytes(n int) (b byte) {
	for ; n > 0 && f.err == nil; n-- {
		b, f.err = f.from.UInt8()
	}
	return b
}

// request reads a statement with all that is known of who sends it, by the protocol's revision.
func (p *peer) request() (request, error) {
	const timeSize, isClient = 8, byte(chproto.InterfaceTCP)
	f := &fields{from: p.from}
	f.texts(1) // its id
	f.bytes(1) // whether a client or a server sends it
	f.texts(3) // the first sender's name, id and address
	f.bytes(timeSize)
	client := f.bytes(1) == isClient
	if client {
		f.texts(3)   // its user, host and name
		f.numbers(3) // its version
	}
	f.texts(1)   // the key of its quota
	f.numbers(1) // over how many servers it came
	if client {
		f.numbers(1) // its patch
	}
	if f.bytes(1) != 0 {
		return request{}, errors.New("a request that is traced")
	}
	f.numbers(3) // parallel replicas
	var r request
	for f.err == nil {
		var one chproto.Setting
		if f.err = one.Decode(p.from); f.err == nil && one.Key == "" {
			break
		}
		r.settings = append(r.settings, one)
	}
	f.texts(1)   // the servers' secret
	f.numbers(1) // how far to run it: always to the end
	r.compressed = chproto.Compression(f.numbers(1)) == chproto.CompressionEnabled
	r.statement = f.texts(1)
	return r, f.err
}

// found answers another server that tables are there, and not replicated.
func (p *peer) found() error {
	f := &fields{from: p.from}
	n := f.numbers(1)
	chproto.ServerCodeTablesStatus.Encode(&p.to)
	p.to.PutInt(n)
	for range n {
		p.to.PutString(f.texts(1)) // database
		p.to.PutString(f.texts(1)) // table
		p.to.PutBool(false)
	}
	return f.err
}

// scalar is the code of a packet with a constant, such as the number of a shard. It is like one with data.
const scalar = 7

// temporary reads the tables that a request brings along, up to an empty one without a name: what is on the right of
// GLOBAL IN. A client brings none.
func (p *peer) temporary(compressed bool) (map[string][]byte, error) {
	tables := map[string][]byte{}
	for {
		code, name, b, err := p.packet(compressed)
		switch {
		case err != nil:
			return nil, err
		case code == scalar:
			continue
		case name == "" && b.Rows() == 0:
			return tables, nil
		}
		var out chproto.Buffer
		if err := b.Encode(&out, 0); err != nil {
			return nil, err
		}
		tables[name] = append(tables[name], out.Buf...)
	}
}

// packet reads a block with its packet's code and name.
func (p *peer) packet(compressed bool) (code uint64, name string, b *proto.Block, err error) {
	if code, err = p.from.UVarInt(); err != nil {
		return 0, "", nil, err
	}
	if code != scalar && chproto.ClientCode(code) != chproto.ClientCodeData {
		return 0, "", nil, fmt.Errorf("a packet of kind %d instead of data", code)
	}
	var data chproto.ClientData
	if err := data.DecodeAware(p.from, revision); err != nil {
		return 0, "", nil, err
	}
	if compressed {
		p.from.EnableCompression()
		defer p.from.DisableCompression()
	}
	b = proto.NewBlock()
	return code, data.TableName, b, b.Decode(p.from, revision)
}

// make makes a temporary table of blocks.
func (p *peer) make(session *session, name string, blocks []byte) error {
	f, err := os.CreateTemp(p.folder, "table-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(blocks)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, err = session.runStatement("create temporary table "+identifier(name)+" engine = Memory as select * from file("+
		literal(f.Name())+", 'Native')", "Null")
	return err
}
