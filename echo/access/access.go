// Package access decides what a token may do. It is pure.
package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
)

// Scope is something that a token may do; scopes can be combined.
type Scope uint8

// The scopes.
const (
	Write Scope = 1 << iota // send points
	Read                    // ask questions
)

// Names of scopes, as in a file of tokens.
var scopes = []struct {
	name  string
	scope Scope
}{{"write", Write}, {"read", Read}}

// Strings returns the names of the scopes in s.
func (s Scope) Strings() []string {
	names := []string{}
	for _, one := range scopes {
		if s&one.scope != 0 {
			names = append(names, one.name)
		}
	}
	return names
}

// minToken is the least length of a token, in bytes.
const minToken = 8

// Tokens are the known tokens. If there are none, nobody needs one.
type Tokens struct{ list []token }

type token struct {
	sum   [sha256.Size]byte
	scope Scope
}

// Add adds a token. A token that is added twice has both scopes.
func (t *Tokens) Add(text string, scope Scope) error {
	switch {
	case len(text) < minToken:
		return fmt.Errorf("a token has %d characters; it needs %d", len(text), minToken)
	case strings.ContainsAny(text, " \t\r\n"):
		return fmt.Errorf("a token has a space in it")
	}
	t.list = append(t.list, token{sha256.Sum256([]byte(text)), scope})
	return nil
}

// Parse adds the tokens of a file: one per line, followed by what it may do: "write", "read" or "write,read"; if
// nothing follows, both. It skips lines that begin with #. No error has a token in it.
func (t *Tokens) Parse(file string) error {
	n := 0
	for line := range strings.Lines(file) {
		n++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		scope := Write | Read
		if len(fields) > 1 {
			scope = 0
			for name := range strings.FieldsFuncSeq(strings.Join(fields[1:], ","), func(r rune) bool { return r == ',' }) {
				one, err := scopeNamed(name)
				if err != nil {
					return fmt.Errorf("line %d: %w", n, err)
				}
				scope |= one
			}
		}
		if err := t.Add(fields[0], scope); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return nil
}

func scopeNamed(name string) (Scope, error) {
	for _, one := range scopes {
		if one.name == name {
			return one.scope, nil
		}
	}
	return 0, errors.New("a token's scopes must be write or read")
}

// Needed reports whether a token is needed at all.
func (t *Tokens) Needed() bool { return len(t.list) > 0 }

// Of returns what the sender of an Authorization header may do. Without any tokens, everybody may do everything.
func (t *Tokens) Of(authorization string) Scope {
	if !t.Needed() {
		return Write | Read
	}
	kind, text, _ := strings.Cut(authorization, " ")
	got := sha256.Sum256([]byte(strings.TrimSpace(text)))
	var scope Scope
	for _, one := range t.list { // compare all, at equal lengths, so that the time does not depend on the token
		if subtle.ConstantTimeCompare(got[:], one.sum[:]) == 1 {
			scope |= one.scope
		}
	}
	if !strings.EqualFold(kind, "Bearer") {
		return 0
	}
	return scope
}
