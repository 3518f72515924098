package hollow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Kind is what a row counts.
type Kind uint32

// The kinds; their numbers are in src/hollow.h, too.
const (
	Call     Kind = 1 // calls of an NVIDIA function
	Launched Kind = 2 // kernels by name: launched by a call, with captured ones
	Executed Kind = 3 // kernels by name: run by the GPU; those of graphs at each graph launch
	Sum      Kind = 4 // others: bytes "copied", and how often an export table was requested
)

// Row is one count.
type Row struct {
	Kind  Kind
	Name  string
	Count uint64
	NS    uint64 // GPU time of Executed
}

// The layout of the shared file, as in src/shm.c.
const (
	magic        = 0x31776f6c6c6f68
	settingsSize = 64 << 10
	rowCount     = 32768
	rowSize      = 32
	settingsAt   = 16
	rowsAt       = settingsAt + settingsSize + 4 // number of rows
	tableAt      = settingsAt + settingsSize + 16
	namesAt      = tableAt + rowCount*rowSize
	fileSize     = namesAt + 8<<20
)

func view(file string, use func(m []byte) error) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return err
	} else if info.Size() < fileSize {
		if err := f.Truncate(fileSize); err != nil {
			return err
		}
	}
	m, err := unix.Mmap(int(f.Fd()), 0, fileSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	return errors.Join(use(m), unix.Munmap(m))
}

func word(m []byte, at int) *uint64 {
	return (*uint64)(unsafe.Pointer(&m[at])) // aligned: all offsets are multiples of 8
}

// Counts reads what the programs that share the file have done so far.
func Counts(file string) (rows []Row, err error) {
	err = view(file, func(m []byte) error {
		if *word(m, 0) != magic {
			return errors.New("no program has used it yet")
		}
		n := atomic.LoadUint32((*uint32)(unsafe.Pointer(&m[rowsAt])))
		for i := range int(min(n, rowCount)) {
			at := tableAt + i*rowSize
			name := m[namesAt+int(binary.NativeEndian.Uint32(m[at+12:])):]
			rows = append(rows, Row{
				Kind: Kind(binary.NativeEndian.Uint32(m[at+8:])), Name: string(name[:bytes.IndexByte(name, 0)]),
				Count: atomic.LoadUint64(word(m, at+16)), NS: atomic.LoadUint64(word(m, at+24)),
			})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the counts of %s: %w", file, err)
	}
	return rows, nil
}

// By returns the counts of one kind by name.
func By(rows []Row, k Kind) map[string]uint64 {
	m := map[string]uint64{}
	for _, r := range rows {
		if r.Kind == k && r.Count > 0 {
			m[r.Name] += r.Count
		}
	}
	return m
}

// Set replaces the settings (lines of key=value; DESIGN.md lists them), also for running
// programs. Work that is already queued keeps its times.
func Set(file, settings string) error {
	if len(settings) >= settingsSize {
		return fmt.Errorf("set: %d bytes are too many, at most %d", len(settings), settingsSize-1)
	}
	err := view(file, func(m []byte) error {
		generation := word(m, 8)
		before := atomic.LoadUint64(generation)
		atomic.StoreUint64(generation, before|1)
		clear(m[settingsAt : settingsAt+settingsSize])
		copy(m[settingsAt:], settings)
		atomic.StoreUint64(generation, (before|1)+3)
		return nil
	})
	if err != nil {
		return fmt.Errorf("set %s: %w", file, err)
	}
	return nil
}
