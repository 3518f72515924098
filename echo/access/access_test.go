package access_test

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/echo/access"
)

func TestATokenMayDoWhatItsLineSays(t *testing.T) {
	var tokens access.Tokens
	if err := tokens.Parse("# producers\n\nwriter-1234 write\n  reader-1234 read\nboth-123456\nlist-123456 write,read\nwords-12345 read write\n"); err != nil {
		t.Fatal(err)
	}
	const both = access.Write | access.Read
	for header, want := range map[string]access.Scope{
		"Bearer writer-1234": access.Write, "bearer reader-1234": access.Read, "Bearer both-123456": both,
		"Bearer list-123456": both, "Bearer words-12345": both,
		"Bearer writer-123": 0, "Bearer": 0, "": 0, "Basic both-123456": 0, "both-123456": 0, "Bearer # producers": 0,
	} {
		if got := tokens.Of(header); got != want {
			t.Errorf("%q may %v; want %v", header, got.Strings(), want.Strings())
		}
	}
}

func TestWithoutTokensEverybodyMayDoEverything(t *testing.T) {
	var tokens access.Tokens
	if tokens.Needed() || tokens.Of("") != access.Write|access.Read {
		t.Error("a token is needed")
	}
}

func TestAFileOfTokensIsRefusedWithoutTellingThem(t *testing.T) {
	for name, file := range map[string]string{
		"a word": "hidden-1234 admin", "short": "hidden", "both at once": "ok-12345678 write\nhidden-1234 write,all",
	} {
		err := new(access.Tokens).Parse(file)
		if err == nil || strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := new(access.Tokens).Add("two words", access.Read); err == nil {
		t.Error("a token with a space in it, which no header can have, is accepted")
	}
}
