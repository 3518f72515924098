package doctable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/internal/doctable"
)

func TestOnlyTheTableChanges(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "page.md")
	const first = "# Page\n<!-- table: a -->\n| 1 |\n<!-- end of table -->\ntext\n<!-- table: b -->\n"
	const last = "<!-- end of table -->\nend\n"
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(first + "| 2 |\n" + last)
	b, err := doctable.Read(file, "b")
	if err != nil || b.Text != "| 2 |\n" {
		t.Fatalf("%+v, %v", b, err)
	}
	b.Text += "| 3 |\n"
	if err := b.Write(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if want := first + "| 2 |\n| 3 |\n" + last; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	for name, page := range map[string]string{"no mark": "# Page\n", "no end": "<!-- table: b -->\n| 2 |\n"} {
		write(page)
		if _, err := doctable.Read(file, "b"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
