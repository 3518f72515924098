package nodes

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/ingero-io/ingero/lib/plain"
)

// addressKey is the key for a node's address in the context of a request, and so of its handshake.
type addressKey struct{}

// showing is a TLS configuration that notes which nodes ask for a client certificate. With TLS 1.3
// a client finishes its handshake before the node has checked the certificate: the node's alert may
// come after the request, or be lost when the connection is reset.
func (cl *Client) showing(c *tls.Config) *tls.Config {
	c = c.Clone()
	given := c.Certificates
	c.GetClientCertificate = func(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		cl.asking.Store(asked.Context().Value(addressKey{}), true)
		for i := range given {
			if asked.SupportsCertificate(&given[i]) == nil {
				return &given[i], nil
			}
		}
		return new(tls.Certificate), nil // none: the node's answer says so
	}
	return c
}

const noCertificate = "it refuses our certificate, or wants one: %w; pass --client-cert and --client-key"

// explain says why a node cannot be reached, and what to do. asked: it has asked for a client
// certificate.
func explain(err error, asked bool) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var verify *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	var lookup *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &name):
		return fmt.Errorf("its certificate is not for this name: %w; start it with --host NAME, after deleting its "+
			"~/.ingero/node-cert.pem", name)
	case errors.As(err, &unknown):
		return errors.New("its certificate is not known here; copy its ~/.ingero/node-cert.pem and pass it as --ca-cert " +
			"FILE, or append it to ~/.ingero/nodes.pem")
	case errors.As(err, &verify):
		return fmt.Errorf("its certificate is not valid: %w", verify.Err)
	case errors.As(err, &header), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return errors.New("it speaks HTTP without TLS; if that is meant to be so, pass --no-tls")
	case errors.As(err, &op) && op.Op == "remote error" && strings.Contains(op.Err.Error(), "protocol version"):
		return errors.New("it does not speak TLS 1.3")
	case errors.As(err, &op) && op.Op == "remote error": // an alert of TLS
		return fmt.Errorf(noCertificate, op.Err)
	case asked && closed(err):
		return fmt.Errorf(noCertificate, errors.New(printable(err.Error())))
	case errors.As(err, &lookup):
		return fmt.Errorf("its name cannot be resolved: %w", lookup)
	}
	return errors.New(printable(err.Error()))
}

// closed reports whether the other side ended the connection instead of answering.
func closed(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.EPIPE, syscall.ECONNRESET, net.ErrClosed} {
		if errors.Is(err, end) {
			return true
		}
	}
	return strings.HasPrefix(err.Error(), "http2: ") // its errors have no values of their own
}

// printable converts text from a peer, which may contain anything, to one line.
func printable(s string) string {
	const most = 500
	s = strings.Map(func(r rune) rune {
		if plain.Odd(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strings.Join(strings.Fields(s), " ")
}
