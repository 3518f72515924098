// Package access says which tokens may do what. It is pure.
package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
)

// Scope is something that a token may do; scopes can be added up.
type Scope uint8

// The scopes.
const (
	Write Scope = 1 << iota // send points
	Read                    // ask
)

// Names of scopes, as in a file of tokens.
var scopes = []struct {
	name  string
	scope Scope
}{{"write", Write}, {"read", Read}}

// Strings are the names of the scopes in s.
func (s Scope) Strings() []string {
	names := []string{}
	for _, one := range scopes {
		if s&one.scope != 0 {
			names = append(names, one.name)
		}
	}
	return names
}

// minToken is how short a token may be, in bytes.
const minToken = 8

// Tokens are those that are known. None: nobody needs one.
type Tokens struct{ list []token }

type token struct {
	sum   [sha256.Size]byte
	scope Scope
}

// Add adds a token. Added twice, it may do what either may.
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

// Parse adds the tokens of a file: one a line, and behind it what it may do, "write", "read", or "write,read"; both if
// there is nothing behind it. Lines that begin with # are left out. Errors never have a token in them.
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
	return 0, errors.New("a word is neither write nor read, which is what a token may do")
}

// Needed reports whether a token is needed at all.
func (t *Tokens) Needed() bool { return len(t.list) > 0 }

// Of is what the sender of a header "Authorization" may do. Without any token, everybody may do everything.
func (t *Tokens) Of(authorization string) Scope {
	if !t.Needed() {
		return Write | Read
	}
	kind, text, _ := strings.Cut(authorization, " ")
	got := sha256.Sum256([]byte(strings.TrimSpace(text)))
	var scope Scope
	for _, one := range t.list { // all of them, and of equal lengths, so that the time does not depend on the token
		if subtle.ConstantTimeCompare(got[:], one.sum[:]) == 1 {
			scope |= one.scope
		}
	}
	if !strings.EqualFold(kind, "Bearer") {
		return 0
	}
	return scope
}
