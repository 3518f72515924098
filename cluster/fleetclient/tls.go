package fleetclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// Files are for mutual TLS, in PEM: the certificates that sign the fleet's, and the agent's own certificate
// with its key. All or none; with none, the fleet's certificate is checked with those of the system.
type Files struct{ CA, Cert, Key string }

// config is the TLS configuration, nil if there are no files.
func (f Files) config() (*tls.Config, error) {
	if f == (Files{}) {
		return nil, nil
	}
	if f.CA == "" || f.Cert == "" || f.Key == "" {
		return nil, errors.New("the files of the CA, the certificate and its key belong together; give all or none")
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate %s with the key %s: %w", f.Cert, f.Key, err)
	}
	pem, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of the CA: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate", f.CA)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, RootCAs: roots}, nil
}
