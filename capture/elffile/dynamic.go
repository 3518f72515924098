package elffile

import (
	"bytes"
	"debug/elf"

	"github.com/ingero-io/ingero/capture/limit"
)

// Dynamic returns the texts of the entries of the dynamic section with a tag, in order: of elf.DT_NEEDED the
// libraries that the file is linked to, of elf.DT_SONAME the name it gives itself.
func (f *File) Dynamic(tag elf.DynTag) ([]string, error) {
	const entry = 16 // bytes of an Elf64_Dyn
	d := f.SectionByType(elf.SHT_DYNAMIC)
	names := f.Strings(d)
	if names == nil {
		return nil, nil
	}
	b, err := d.Data("entries of the dynamic section", limit.Dynamic*entry)
	if err != nil {
		return nil, err
	}
	var list []string
	buf := make([]byte, limit.Library)
	for ; len(b) >= entry; b = b[entry:] {
		if elf.DynTag(f.ByteOrder.Uint64(b)) != tag {
			continue
		}
		if len(list) == limit.Needed {
			return list, &limit.Exceeded{What: "the dynamic section", Most: limit.Needed, Unit: "names"}
		}
		at := f.ByteOrder.Uint64(b[8:])
		if at >= names.FileSize || names.Flags&elf.SHF_COMPRESSED != 0 {
			continue
		}
		n, _ := names.ReadAt(buf, int64(at)) // less is there at the end
		if end := bytes.IndexByte(buf[:n], 0); end >= 0 {
			list = append(list, string(buf[:end]))
		}
	}
	return list, nil
}
