package diagnose

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strconv"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Each of several processes or threads that had one id has an id of its own (event.ReusedID) in what is loaded, by
// which all evidence is keyed. People know them by the kernel's, so a report has those.

// distinctIDs returns a reader in which ids are distinct. done closes it; it is never nil.
func distinctIDs(ctx context.Context, r store.Reader) (d store.Reader, done func(), err error) {
	done = func() {}
	all, ok := r.(store.Distinct)
	if !ok {
		return r, done, nil
	}
	if d, err = all.Distinct(ctx); err != nil {
		return nil, done, fmt.Errorf("read which ids were used again: %w", err)
	}
	if d != r {
		done = func() { _ = d.Close() } // a reader has nothing to lose
	}
	return d, done, nil
}

// reusedIDs are the ids of an input that are not the kernel's.
func reusedIDs(in *Input) map[string]string {
	shown := map[string]string{}
	add := func(id uint32) {
		if own := event.KernelID(id); own != id {
			shown[itoa(id)] = itoa(own)
		}
	}
	for i := range in.Processes {
		add(in.Processes[i].PID)
		add(in.Processes[i].Parent)
	}
	for i := range in.Threads {
		add(in.Threads[i].PID)
		add(in.Threads[i].TID)
	}
	for i := range in.GPUMemory {
		add(in.GPUMemory[i].PID)
	}
	for i := range in.OffCPU {
		add(in.OffCPU[i].Holder)
	}
	return shown
}

// longNumber is a number as large as an id that is not the kernel's: counts and sizes have separators or units.
var longNumber = regexp.MustCompile(`\b[0-9]{7,10}\b`)

// showKernelIDs puts the kernel's ids into a report.
func showKernelIDs(r *report.Report, in *Input) {
	shown := reusedIDs(in)
	if len(shown) == 0 {
		return
	}
	show(reflect.ValueOf(r).Elem(), "", shown)
}

// show changes the ids in a value, which is that of a field.
func show(v reflect.Value, field string, shown map[string]string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			show(v.Elem(), field, shown)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			show(v.Field(i), v.Type().Field(i).Name, shown)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			show(v.Index(i), field, shown)
		}
	case reflect.Uint32:
		if own, ok := shown[strconv.FormatUint(v.Uint(), 10)]; ok && v.CanSet() {
			n, _ := strconv.ParseUint(own, 10, 32) // we made it
			v.SetUint(n)
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(longNumber.ReplaceAllStringFunc(v.String(), func(s string) string {
				if own, ok := shown[s]; ok {
					return own
				}
				return s
			}))
		}
	}
}
