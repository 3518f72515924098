// Package smallfile reads files that a user names and that are small: configurations, tokens, keys, certificates. It
// is not for recordings, nor for what other programs write.
package smallfile

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
)

// Max is the longest file that is read, in bytes. The certificates that a system trusts are 220 KB.
const Max = 4 << 20

// ErrLong says that a file is longer than Max: it cannot be what its name is given for.
var ErrLong = errors.New("longer than 4 MiB")

// Read reads a file, or what a pipe gives. One without end, such as /dev/zero, is ErrLong.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, Max+1))
	if err != nil {
		return nil, err
	}
	if len(b) > Max {
		return nil, fmt.Errorf("read %s: %w", path, ErrLong)
	}
	return b, nil
}

// KeyPair reads a certificate and its key, both PEM.
func KeyPair(cert, key string) (tls.Certificate, error) {
	c, err := Read(cert)
	if err != nil {
		return tls.Certificate{}, err
	}
	k, err := Read(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(c, k)
}
