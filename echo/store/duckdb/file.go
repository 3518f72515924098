package duckdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// NewerError means that a newer program wrote a file.
type NewerError struct{ Path, What string }

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s was written by a newer ingero-echo: %s. Use that one, or give another --db-path",
		e.Path, e.What)
}

// engineFormat is the highest version of files that this engine reads.
const engineFormat = 67

// headerSize covers what readable checks: a checksum of 8 bytes, "DUCK", and the version in 8 bytes.
const headerSize = 20

// readable checks a file's first bytes, so that an unreadable file gets a clear error.
func readable(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it will be created
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var b [headerSize]byte
	if n, err := io.ReadFull(f, b[:]); errors.Is(err, io.EOF) && n == 0 {
		return nil // too short to have data
	} else if err != nil || string(b[8:12]) != "DUCK" {
		return fmt.Errorf("%s is no file of DuckDB", path)
	}
	if v := binary.LittleEndian.Uint64(b[12:]); v > engineFormat {
		return &NewerError{path, fmt.Sprintf("version %d of DuckDB's files; this one reads %d", v, engineFormat)}
	}
	return nil
}
