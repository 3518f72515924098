package fleet

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"unicode"
)

// explain words why a node cannot be reached, and what to do.
func explain(err error) error {
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
		return fmt.Errorf("its certificate is not for this name: %w; start it with --host NAME, after deleting its ~/.ingero/node-cert.pem", name)
	case errors.As(err, &unknown):
		return errors.New("its certificate is not known here; copy its ~/.ingero/node-cert.pem and pass it as --ca-cert FILE, or append it to ~/.ingero/nodes.pem")
	case errors.As(err, &verify):
		return fmt.Errorf("its certificate does not hold: %w", verify.Err)
	case errors.As(err, &header), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return errors.New("it speaks HTTP without TLS; if that is meant to be so, pass --no-tls")
	case errors.As(err, &op) && op.Op == "remote error" && strings.Contains(op.Err.Error(), "protocol version"):
		return errors.New("it does not speak TLS 1.3")
	case errors.As(err, &op) && op.Op == "remote error": // an alert of TLS
		return fmt.Errorf("it refuses our certificate, or wants one: %w; pass --client-cert and --client-key", op.Err)
	case errors.As(err, &lookup):
		return fmt.Errorf("its name is not known: %w", lookup)
	}
	return errors.New(printable(err.Error()))
}

// printable is text of a peer, which may hold anything, as one line.
func printable(s string) string {
	const most = 500
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strings.Join(strings.Fields(s), " ")
}
