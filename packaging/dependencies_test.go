package packaging_test

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestReleaseDependencies: programs are static, so that packages need no others; but Echo's for arm64 needs libraries.
// Its packages name versions of them that have all that the program takes from them.
func TestReleaseDependencies(t *testing.T) {
	version := releasedVersion(t)
	for _, arch := range []string{"amd64", "arm64"} {
		for name := range releasedPrograms.packages {
			deb := run(t, ".", "dpkg-deb", "-f", dist(t, name+"_"+version+"_"+arch+".deb"), "Depends")
			rpmArch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch]
			rpm := rpmRequires(t, dist(t, name+"-"+version+"-1."+rpmArch+".rpm"))
			if arch == "amd64" || name != "ingero-echo" {
				if deb != "" || len(rpm) > 0 {
					t.Errorf("%s for %s needs %q as a deb, %q as an rpm", name, arch, deb, rpm)
				}
				continue
			}
			if deb != "libc6 (>= 2.36), libstdc++6 (>= 12)" {
				t.Errorf("%s for %s needs %q as a deb", name, arch, deb)
			}
			dir := t.TempDir()
			packed(t, dist(t, name+"_"+version+"_linux_"+arch+".tar.gz"), dir)
			f, err := elf.Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			covered(t, f, rpm)
		}
	}
}

// covered checks that an rpm requires what a program needs of glibc and libstdc++. The rest comes with them.
func covered(t *testing.T, program *elf.File, rpm []string) {
	t.Helper()
	needs, err := program.DynamicVersionNeeds()
	if err != nil || len(needs) == 0 {
		t.Fatalf("%+v, %v", needs, err)
	}
	numbers := func(version string) (list []int) {
		for s := range strings.SplitSeq(version, ".") {
			n, _ := strconv.Atoi(s) // GLIBC_PRIVATE is none
			list = append(list, n)
		}
		return list
	}
	most := map[string][]int{}
	for _, r := range rpm {
		_, symbols, ok := strings.Cut(r, "(")
		symbols, _, ok2 := strings.Cut(symbols, ")(64bit)")
		kind, version, ok3 := strings.Cut(symbols, "_")
		if !ok || !ok2 || !ok3 {
			t.Errorf("the rpm requires %s", r)
		}
		most[kind] = numbers(version)
	}
	for _, library := range needs {
		for _, d := range library.Needs {
			kind, version, _ := strings.Cut(d.Dep, "_")
			if of, ok := most[kind]; ok && slices.Compare(numbers(version), of) > 0 {
				t.Errorf("the program needs %s of %s, and the rpm requires %q", d.Dep, library.Name, rpm)
			}
		}
	}
	if len(most) != 2 || most["GLIBC"] == nil || most["GLIBCXX"] == nil {
		t.Errorf("the rpm requires %q", rpm)
	}
}

// rpmHeaders are those of an rpm: behind 96 bytes a header with sums, then the one that these are about; then come the
// files. A header has 16 bytes, an index with entries of 16 bytes, and what these are about.
func rpmHeaders(b []byte) (sums, header []byte) {
	size := func(at int) int {
		return 16 + 16*int(binary.BigEndian.Uint32(b[at+8:])) + int(binary.BigEndian.Uint32(b[at+12:]))
	}
	const begin = 96
	at := begin + (size(begin)+7)/8*8
	return b[begin:at], b[at : at+size(at)]
}

// rpmRequires are the names of what an rpm requires, without what it requires of rpm itself.
func rpmRequires(t *testing.T, rpm string) (names []string) {
	t.Helper()
	b, err := os.ReadFile(rpm)
	if err != nil || len(b) < 1000 {
		t.Fatalf("%s: %d bytes, %v", rpm, len(b), err)
	}
	const name, requireName = 1000, 1049 // of the package; of what it requires
	_, h := rpmHeaders(b)
	named := false
	word := func(at int) int { return int(binary.BigEndian.Uint32(h[at:])) }
	data := h[16+16*word(8):]
	for entry := 16; entry < 16+16*word(8); entry += 16 {
		list := strings.SplitN(string(data[word(entry+8):]), "\x00", word(entry+12)+1)[:word(entry+12)]
		switch word(entry) {
		case name:
			named = strings.HasPrefix(filepath.Base(rpm), list[0]+"-")
		case requireName:
			names = slices.DeleteFunc(list, func(n string) bool { return strings.HasPrefix(n, "rpmlib(") })
		}
	}
	if !named {
		t.Errorf("%s does not have its name", rpm)
	}
	return names
}
