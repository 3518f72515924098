package unwind

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Every row of the tables of real libraries agrees with that of readelf.
func TestRowsAgreeWithReadelf(t *testing.T) {
	tool, err := exec.LookPath("readelf")
	if err != nil {
		t.Skip("needs readelf of binutils")
	}
	seen := 0
	for _, pattern := range []string{
		"/lib/*-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/*-linux-gnu/libstdc++.so.6",
		"/lib/*-linux-gnu/ld-linux-*.so.?", "/usr/lib/gcc/*/*/crtend.o",
		"/usr/aarch64-linux-gnu/lib/libc.so.6", "/usr/aarch64-linux-gnu/lib/libstdc++.so.6",
	} {
		files, _ := filepath.Glob(pattern) // the pattern is good
		for _, file := range files {
			t.Run(strings.ReplaceAll(strings.Trim(file, "/"), "/", "_"), func(t *testing.T) {
				seen += compare(t, tool, file)
			})
		}
	}
	if seen == 0 {
		t.Skip("no library with unwind tables here")
	}
	t.Logf("%d rows agree", seen)
}

func compare(t *testing.T, tool, file string) (rows int) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tab, err := open(f)
	if err != nil {
		return 0 // no tables, and nothing to compare them with
	}
	cmd := exec.Command(tool, "--debug-dump=frames-interp", file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var columns []string
	inFDE, errors, end := false, 0, uint64(0)
	s := bufio.NewScanner(out)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		w := strings.Fields(s.Text())
		switch {
		case len(w) == 0:
			columns = nil
		case len(w) > 3 && (w[3] == "CIE" || w[3] == "FDE"):
			inFDE = w[3] == "FDE"
			_, pcs, _ := strings.Cut(s.Text(), "pc=")
			_, pcs, _ = strings.Cut(pcs, "..")
			end, _ = strconv.ParseUint(pcs, 16, 64) // of a CIE: none
		case w[0] == "LOC":
			columns = w[2:]
		case columns != nil && inFDE && len(w) == len(columns)+2:
			pc, err := strconv.ParseUint(w[0], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			if pc >= end || pc < 64 { // past the function, or of one that the linker left out
				continue
			}
			rows++
			names, want := general(columns, w[2:])
			if got, want := show(tab.arch, tab.row(pc), names), strings.Join(append(w[1:2], want...), " "); got != want &&
				errors < 10 {
				errors++
				t.Errorf("%#x: %s: got %q, want %q", pc, strings.Join(columns, " "), got, want)
			}
			if pc&0xff == 0 {
				clear(tab.rows)
			}
		}
	}
	_ = cmd.Wait() // it fails if the file's debug information is elsewhere
	return rows
}

// general leaves out the columns of vector registers, which are not followed.
func general(columns, values []string) (names, of []string) {
	for i, c := range columns {
		if !strings.HasPrefix(c, "v") && !strings.HasPrefix(c, "xmm") {
			names, of = append(names, c), append(of, values[i])
		}
	}
	return names, of
}

var namesAMD64 = strings.Fields("rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 ra")

func name(a *Arch, n uint64) string {
	switch {
	case a == AMD64:
		return namesAMD64[n]
	case n == 31:
		return "sp"
	}
	return fmt.Sprintf("x%d", n)
}

// show writes a row as readelf does.
func show(a *Arch, w *row, columns []string) string {
	if w == nil {
		return "none"
	}
	words := []string{"exp"}
	if w.cfa.kind != ruleExpression {
		words[0] = fmt.Sprintf("%s%+d", name(a, w.cfa.reg), w.cfa.off)
	}
	for _, c := range columns {
		word := "u"
		for _, g := range w.regs {
			if n := name(a, g.reg); n == c || c == "ra" && g.reg == w.ra {
				word = showRule(a, &g.rule)
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func showRule(a *Arch, r *rule) string {
	switch r.kind {
	case ruleSame:
		return "s"
	case ruleOffset:
		return fmt.Sprintf("c%+d", r.off)
	case ruleValue:
		return fmt.Sprintf("v%+d", r.off)
	case ruleRegister:
		return name(a, r.reg)
	case ruleExpression:
		return "exp"
	case ruleValueExpr:
		return "vexp"
	}
	return "u"
}
