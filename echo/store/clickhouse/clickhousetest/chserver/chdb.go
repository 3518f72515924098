package main

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// engine is libchdb, ClickHouse's engine as a library. Its functions are those of its header, chdb.h.
type engine struct {
	args   []string
	open   func(argc int32, argv **byte) *uintptr
	close  func(conn *uintptr)
	query  func(conn uintptr, q *byte, ql uint64, format *byte, fl uint64) uintptr
	buffer func(result uintptr) unsafe.Pointer
	length func(result uintptr) uint64
	fault  func(result uintptr) *byte
	free   func(result uintptr)
}

// load loads the library with its tables in a folder.
func load(library, folder string) (*engine, error) {
	lib, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, err
	}
	e := &engine{args: []string{"clickhouse", "--path=" + folder}}
	for name, f := range map[string]any{
		"chdb_connect": &e.open, "chdb_close_conn": &e.close, "chdb_query_n": &e.query, "chdb_result_buffer": &e.buffer,
		"chdb_result_length": &e.length, "chdb_result_error": &e.fault, "chdb_destroy_query_result": &e.free,
	} {
		at, err := purego.Dlsym(lib, name)
		if err != nil {
			return nil, err
		}
		purego.RegisterFunc(f, at)
	}
	return e, nil
}

// session is a connection to the engine, with its own settings.
type session struct {
	engine *engine
	conn   *uintptr
}

func (e *engine) session() (*session, error) {
	texts := make([][]byte, len(e.args))
	argv := make([]*byte, len(e.args))
	var pin runtime.Pinner
	defer pin.Unpin()
	for i, a := range e.args {
		texts[i] = append([]byte(a), 0)
		argv[i] = &texts[i][0]
		pin.Pin(argv[i])
	}
	conn := e.open(int32(len(argv)), &argv[0])
	if conn == nil {
		return nil, errors.New("the engine cannot be opened")
	}
	return &session{e, conn}, nil
}

func (s *session) end() { s.engine.close(s.conn) }

// runStatement runs a statement and returns the answer in a format.
func (s *session) runStatement(statement, format string) ([]byte, error) {
	q, f := append([]byte(statement), 0), append([]byte(format), 0)
	r := s.engine.query(*s.conn, &q[0], uint64(len(statement)), &f[0], uint64(len(format)))
	if r == 0 {
		return nil, errors.New("Code: 1002. DB::Exception: the engine has no answer")
	}
	defer s.engine.free(r)
	if why := cString(s.engine.fault(r)); why != "" {
		return nil, fmt.Errorf("%s", why)
	}
	n := s.engine.length(r)
	if n == 0 {
		return nil, nil
	}
	return append([]byte(nil), unsafe.Slice((*byte)(s.engine.buffer(r)), n)...), nil
}

// cString converts a C string.
func cString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
