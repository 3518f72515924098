package fleetclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/ingero-io/ingero/lib/smallfile"
)

// Files names PEM files for TLS: the CA that signed the fleet's certificate, and, for mutual TLS, the agent's own
// certificate and key, which need the CA too. Without files, the fleet's certificate is checked with the system's
// CAs.
type Files struct{ CA, Cert, Key string }

// config returns the TLS configuration, nil if there are no files.
func (f Files) config() (*tls.Config, error) {
	if f == (Files{}) {
		return nil, nil
	}
	if f.CA == "" || (f.Cert == "") != (f.Key == "") {
		return nil, errors.New("the certificate, its key and the CA belong together; give all, the CA alone, or none")
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: x509.NewCertPool()}
	if f.Cert != "" {
		pair, err := smallfile.KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("read the certificate %s with the key %s: %w", f.Cert, f.Key, err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	pem, err := smallfile.Read(f.CA)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of the CA: %w", err)
	}
	if !conf.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate", f.CA)
	}
	return conf, nil
}
