package unwind

import (
	"bytes"
	"debug/elf"
	"testing"

	"github.com/ingero-io/ingero/capture/host/proc"
)

// Every function of the vDSO has rules.
func TestRulesOfTheVDSO(t *testing.T) {
	b, err := readVDSO()
	if err != nil {
		t.Skip("this kernel maps none: ", err)
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	syms, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	u := New(proc.New(""))
	defer u.Close()
	tab := u.ownVDSO().tables
	if tab == nil || u.ownVDSO().tables != tab {
		t.Fatal("no tables")
	}
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 && tab.row(s.Value) == nil {
			t.Errorf("%s has no rules", s.Name)
		}
	}
}
