package webserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ingero-io/ingero/lib/smallfile"
)

// certLife is how long a generated certificate is valid: the maximum that clients accept.
const certLife = 825 * 24 * time.Hour

// Cert is a certificate with its key, and where it came from.
type Cert struct {
	TLS       tls.Certificate
	Path      string // of the certificate
	Generated bool   // by this call
	Made      []string
}

// Fingerprint is the SHA-256 of the certificate, for pinning.
func (c *Cert) Fingerprint() string {
	return strings.ReplaceAll(fmt.Sprintf("% X", sha256.Sum256(c.TLS.Certificate[0])), " ", ":")
}

// Until is when the certificate expires.
func (c *Cert) Until() time.Time { return c.TLS.Leaf.NotAfter }

// Lacks returns the names for which the certificate is not valid.
func (c *Cert) Lacks(names []string) []string {
	var lacks []string
	for _, n := range names {
		if c.TLS.Leaf.VerifyHostname(n) != nil {
			lacks = append(lacks, n)
		}
	}
	return lacks
}

// LoadCert reads a certificate and its key.
func LoadCert(cert, key string) (*Cert, error) {
	pair, err := smallfile.KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate %s with the key %s: %w", cert, key, err)
	}
	return &Cert{TLS: pair, Path: cert}, nil
}

// OwnCert returns the certificate that is kept in a folder, as NAME-cert.pem and NAME-key.pem. If
// there is none, or it has expired, it generates one for the names: ECDSA on P-256, self-signed.
// The key stays the same as long as its file exists. Made lists the files that were written.
func OwnCert(dir, name string, names []string, now time.Time) (*Cert, error) {
	cert, key := filepath.Join(dir, name+"-cert.pem"), filepath.Join(dir, name+"-key.pem")
	c, err := LoadCert(cert, key)
	if err == nil && now.Before(c.Until()) {
		return c, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; delete both files to have new ones generated", err)
	}
	var made []string
	if err != nil { // otherwise the key is used again
		if made, err = makeKey(key); err != nil {
			return nil, err
		}
	}
	k, err := readKey(key)
	if err != nil {
		return nil, err
	}
	if err := makeCert(cert, k, names, now); err != nil {
		return nil, err
	}
	if c, err = LoadCert(cert, key); err != nil {
		return nil, err
	}
	c.Generated, c.Made = true, append(made, cert)
	return c, nil
}

// makeKey writes a new key, unless there is one: a second process uses the first one's.
func makeKey(path string) ([]string, error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	err = publish(path, "PRIVATE KEY", der, 0o600, os.Link)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	}
	return []string{path}, err
}

func readKey(path string) (*ecdsa.PrivateKey, error) {
	text, err := smallfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	if b, _ := pem.Decode(text); b != nil {
		if k, err := x509.ParsePKCS8PrivateKey(b.Bytes); err == nil {
			if e, ok := k.(*ecdsa.PrivateKey); ok {
				return e, nil
			}
		}
	}
	return nil, fmt.Errorf("%s is not a key made by Ingero; delete it to have a new one generated", path)
}

func makeCert(path string, k *ecdsa.PrivateKey, names []string, now time.Time) error {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return fmt.Errorf("generate a certificate: %w", err)
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Ingero"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, k.Public(), k)
	if err != nil {
		return fmt.Errorf("generate a certificate for %s: %w", strings.Join(names, ", "), err)
	}
	return publish(path, "CERTIFICATE", der, 0o644, os.Rename)
}

// publish writes a PEM file under another name and then renames it, so that nobody reads a partial
// file.
func publish(path, kind string, der []byte, mode os.FileMode, name func(from, to string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".ingero-*")
	if err != nil {
		return fmt.Errorf("keep the certificate: %w; or pass --tls-cert and --tls-key", err)
	}
	defer os.Remove(f.Name())
	err = errors.Join(pem.Encode(f, &pem.Block{Type: kind, Bytes: der}), f.Chmod(mode), f.Close())
	if err == nil {
		err = name(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("keep the certificate: %w", err)
	}
	return nil
}
