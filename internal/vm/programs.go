package vm

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// program adds a program or library to the archive, and what it is linked to.
func (a *archive) program(name, file string, arch Arch) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	a.file(name, data, 0o755)
	return a.needs(file, arch)
}

// needs adds the dynamic linker and the libraries that a program asks for, all to
// one folder, where the linker looks.
func (a *archive) needs(file string, arch Arch) error {
	interpreter, libs, err := linked(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if interpreter != "" {
		if err := a.library(interpreter, filepath.Base(interpreter), arch); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	for _, lib := range libs {
		if err := a.library("/lib/"+lib, lib, arch); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func (a *archive) library(name, lib string, arch Arch) error {
	if a.seen[name] {
		return nil
	}
	for _, dir := range arch.Libs {
		file := filepath.Join(dir, lib)
		if _, err := os.Stat(file); err == nil {
			return a.program(name, file, arch)
		}
	}
	return fmt.Errorf("no %s in %v: install %s", lib, arch.Libs, arch.LibsIn)
}

// linked reads which linker and libraries a program asks for.
func linked(file string) (interpreter string, libs []string, err error) {
	f, err := elf.Open(file)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		b := make([]byte, p.Filesz)
		if _, err := p.ReadAt(b, 0); err != nil {
			return "", nil, err
		}
		interpreter = string(b[:len(b)-1])
	}
	libs, err = f.ImportedLibraries()
	if errors.Is(err, elf.ErrNoSymbols) {
		err = nil
	}
	return interpreter, libs, err
}
