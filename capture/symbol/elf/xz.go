package elf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/ulikunitz/xz/lzma"

	"github.com/ingero-io/ingero/capture/limit"
)

var errXZ = errors.New("not as xz packs symbols")

// Sizes of the parts of an xz file, in bytes (tukaani.org/xz/xz-file-format.txt).
const (
	xzHeader = 12
	xzMagic  = "\xfd7zXZ\x00"
	lzma2    = 0x21 // the only filter; others are for code
)

// checkSizes are the bytes of a block's checksum, by its kind.
var checkSizes = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

// unpack unpacks an xz file of up to limit.Unpacked bytes. It reads the file's parts itself: package xz takes
// as much memory as a block says that it needs, up to 4 GB. Checksums are not compared: what is damaged makes
// wrong names, as in a file that is not packed.
func unpack(packed []byte) ([]byte, error) {
	total, err := unpackedSize(packed)
	if err != nil {
		return nil, err
	}
	check := checkSizes[packed[7]&0xf]
	r := bytes.NewReader(packed[xzHeader:])
	out := make([]byte, total)
	for at := 0; ; {
		dictionary, last, err := block(r)
		if last || err != nil {
			return out[:at], err
		}
		before := r.Len()
		// Nothing that is referred to is further back than the beginning of what is unpacked.
		z, err := lzma.Reader2Config{DictCap: int(max(min(dictionary, total), lzma.MinDictCap))}.NewReader2(r)
		if err != nil {
			return nil, err
		}
		n, err := io.ReadFull(z, out[at:])
		if at += n; err == nil { // the end of the block is still to be read
			var more [1]byte
			if n, _ := z.Read(more[:]); n > 0 {
				return nil, errXZ
			}
		} else if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			return nil, err
		}
		padding := -(before - r.Len()) & 3
		if _, err := r.Seek(int64(padding+check), io.SeekCurrent); err != nil {
			return nil, err
		}
	}
}

// unpackedSize returns how many bytes a file says that it unpacks to: its index, at its end, has the sizes of
// its blocks.
func unpackedSize(packed []byte) (total uint64, err error) {
	n := len(packed)
	if n < 2*xzHeader || string(packed[:len(xzMagic)]) != xzMagic || string(packed[n-2:]) != "YZ" {
		return 0, errXZ
	}
	size := (uint64(binary.LittleEndian.Uint32(packed[n-8:])) + 1) * 4 // of the index
	if size > uint64(n-2*xzHeader) {
		return 0, errXZ
	}
	b := packed[uint64(n-xzHeader)-size:]
	next := func() (v uint64) {
		v, n := binary.Uvarint(b[1:])
		b = b[max(n, 0):]
		return v
	}
	for blocks := next(); blocks > 0 && len(b) > xzHeader; blocks-- {
		next() // bytes as packed
		total += min(next(), limit.Unpacked+1)
		if err := limit.Check("unpacked symbols", total, limit.Unpacked, "bytes"); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// block reads the header of a block: the bytes of the dictionary that it was packed with. last says that there
// are no more, but the index.
func block(r *bytes.Reader) (dictionary uint64, last bool, err error) {
	size, err := r.ReadByte()
	if err != nil || size == 0 {
		return 0, size == 0, err
	}
	b := make([]byte, 4*int(size)+3) // with the size it is a multiple of four; it ends in a checksum
	if _, err := io.ReadFull(r, b); err != nil {
		return 0, false, err
	}
	flags, rest := b[0], b[1:]
	if flags&0x3f != 0 { // more than one filter, or what is not defined
		return 0, false, errXZ
	}
	for _, has := range []byte{0x40, 0x80} { // the sizes of what is packed and unpacked
		if flags&has == 0 {
			continue
		}
		_, n := binary.Uvarint(rest)
		if n <= 0 {
			return 0, false, errXZ
		}
		rest = rest[n:]
	}
	if len(rest) < 3 || rest[0] != lzma2 || rest[1] != 1 || rest[2] > 40 {
		return 0, false, errXZ
	}
	if d := rest[2]; d < 40 {
		return (2 | uint64(d)&1) << (d/2 + 11), false, nil
	}
	return math.MaxUint32, false, nil
}
