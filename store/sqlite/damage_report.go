package sqlite

import (
	"encoding/binary"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// damageReport says how much of a damaged file is present and, for a recording, up to which call it
// can be read.
func (s *source) damageReport() string {
	var h [headerSize]byte
	if _, err := s.file.file.ReadAt(h[:], 0); err != nil {
		return "nothing can be read"
	}
	size := int64(binary.BigEndian.Uint16(h[16:]))
	if size == 1 {
		size = 65536
	}
	info, err := s.file.file.Stat()
	if err != nil || size < 512 {
		return "nothing can be read"
	}
	have, want := info.Size()/size, int64(binary.BigEndian.Uint32(h[28:]))
	text := ""
	if have < want {
		text = fmt.Sprintf("the file is cut short: %d of %d pages are there (%d %%)", have, want, 100*have/want)
	} else {
		text = fmt.Sprintf("all %d pages are there, some hold wrong data", have)
	}
	if n, last := s.readableCalls(); n > 0 {
		text += fmt.Sprintf("; the first %d calls can be read, up to %s", n, time.Unix(0, last).UTC().Format(time.RFC3339))
	}
	return text
}

// readableCalls counts the rows of call from the start to the damage.
func (s *source) readableCalls() (n int, last int64) {
	c, err := sqlite.OpenConn(s.uri, sqlite.OpenReadOnly, sqlite.OpenURI)
	if err != nil {
		return 0, 0
	}
	defer c.Close()
	done := make(chan struct{})
	timer := time.AfterFunc(2*time.Second, func() { close(done) })
	defer timer.Stop()
	c.SetInterrupt(done)
	// With this setting SQLite reads a file that is shorter than its header says.
	if exec(c, "pragma writable_schema = on") != nil {
		return 0, 0
	}
	// An error ends the count at the damage.
	_ = sqlitex.ExecuteTransient(c, "select ts from call", &sqlitex.ExecOptions{ResultFunc: func(st *sqlite.Stmt) error {
		n++
		last = st.ColumnInt64(0)
		return nil
	}})
	return n, last
}
