package event_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
)

func TestCatalogNumbersNamesAndSymbolsAreUnique(t *testing.T) {
	ops, names, symbols := map[event.Op]string{}, map[string]bool{}, map[string]string{}
	for _, i := range event.Catalog {
		if other, ok := ops[i.Op]; ok {
			t.Errorf("%s and %s have number %#x", other, i.Name, uint16(i.Op))
		}
		if names[i.Name] {
			t.Errorf("%s is listed twice", i.Name)
		}
		ops[i.Op], names[i.Name] = i.Name, true
		if !i.Op.Source().Called() {
			continue
		}
		for _, s := range i.SymbolNames() {
			if other, ok := symbols[s]; ok {
				t.Errorf("function %s is %s and %s", s, other, i.Name)
			}
			symbols[s] = i.Name
		}
	}
}

func TestCatalogRowsAreComplete(t *testing.T) {
	column := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	sources := map[event.Source]bool{}
	for _, s := range event.Sources {
		sources[s.Source] = true
	}
	for _, i := range event.Catalog {
		if !sources[i.Op.Source()] || i.Op&0xff == 0 {
			t.Errorf("%s: number %#x has no source or no number in it", i.Name, uint16(i.Op))
		}
		if i.Op >= event.OpSlots {
			t.Errorf("%s: number %#x is beyond the tables by operation, which have %d slots", i.Name, uint16(i.Op),
				event.OpSlots)
		}
		if i.Shape >= event.NumShapes {
			t.Errorf("%s: unknown shape %d", i.Name, i.Shape)
		}
		if len(i.Args) > event.NumArgs {
			t.Errorf("%s: %d arguments, at most %d are recorded", i.Name, len(i.Args), event.NumArgs)
		}
		if !strings.HasSuffix(i.Doc, ".") || strings.ContainsAny(i.Doc, "\n|") {
			t.Errorf("%s: doc %q is not a sentence fit for a table", i.Name, i.Doc)
		}
		seen := map[string]bool{}
		for _, a := range i.Args {
			if !column.MatchString(a.Name) || seen[a.Name] || a.Doc == "" {
				t.Errorf("%s: argument %+v is no column of its own, or unexplained", i.Name, a)
			}
			seen[a.Name] = true
		}
		if i.Role.String() == "" {
			t.Errorf("%s: role without a name", i.Name)
		}
	}
}

// What a shape records, by position, so that a row cannot give its arguments
// other meanings than the eBPF program does.
func TestCatalogArgumentsFitTheirShape(t *testing.T) {
	units := map[event.Shape][]event.Unit{
		event.ShapeLaunch:       {event.UnitAddr, event.UnitHandle, event.UnitCount, event.UnitCount},
		event.ShapeLaunchConfig: {event.UnitAddr, event.UnitHandle, event.UnitCount, event.UnitCount},
		event.ShapeCuLaunch:     {event.UnitAddr, event.UnitHandle, event.UnitCount, event.UnitCount},
		event.ShapeCuConfig:     {event.UnitAddr, event.UnitHandle, event.UnitCount, event.UnitCount},
		event.ShapeAlloc:        {event.UnitBytes, event.UnitAddr},
		event.ShapeCopy:         {event.UnitBytes, event.UnitEnum, event.UnitAddr, event.UnitAddr},
		event.ShapeCuCopy:       {event.UnitBytes, event.UnitAddr, event.UnitAddr},
		event.ShapeCopy2D:       {event.UnitBytes, event.UnitEnum, event.UnitAddr, event.UnitAddr},
		event.ShapeCopyPeer:     {event.UnitBytes, event.UnitDevice, event.UnitAddr, event.UnitAddr},
		event.ShapeEndCapture:   {event.UnitHandle, event.UnitHandle},
		event.ShapeStatus:       {event.UnitHandle, event.UnitEnum},
		event.ShapeCaptureTo:    {event.UnitHandle, event.UnitEnum, event.UnitHandle},
		event.ShapePitch:        {event.UnitBytes, event.UnitAddr},
		event.ShapeRegister:     {event.UnitBytes, event.UnitAddr},
		event.ShapeFill:         {event.UnitBytes, event.UnitAddr, event.UnitNone},
	}
	for _, i := range event.Catalog {
		want, fixed := units[i.Shape]
		if i.Shape == event.ShapeCreate && (len(i.Args) == 0 || i.Args[0].Unit != event.UnitHandle || len(i.Args) > 3) {
			t.Errorf("%s: a new handle comes first, and two more arguments are read", i.Name)
		}
		if !fixed {
			continue
		}
		if len(i.Args) != len(want) {
			t.Errorf("%s: %d arguments, its shape records %d", i.Name, len(i.Args), len(want))
			continue
		}
		for n, u := range want {
			if i.Args[n].Unit != u {
				t.Errorf("%s: argument %s is in %q, its shape records %q", i.Name, i.Args[n].Name, i.Args[n].Unit, u)
			}
		}
	}
}

func TestCatalogIsGroupedBySource(t *testing.T) {
	last := event.Op(0)
	for _, i := range event.Catalog {
		if i.Op.Source() != last.Source() && i.Op < last {
			t.Errorf("%s is apart from its source", i.Name)
		}
		last = i.Op
	}
	total := 0
	for _, s := range event.Sources {
		total += len(event.BySource(s.Source))
	}
	if total != len(event.Catalog) {
		t.Errorf("%d operations by source, %d in all", total, len(event.Catalog))
	}
}

func TestOperationsAreFoundByNameAndNumber(t *testing.T) {
	for n := range event.Catalog {
		i := &event.Catalog[n]
		if got, ok := event.ByName(i.Name); !ok || got != i || i.Op.Info() != i || i.Op.String() != i.Name ||
			i.Op.Role() != i.Role {
			t.Errorf("%s is not found as itself", i.Name)
		}
	}
	if _, ok := event.ByName("cudaNothing"); ok {
		t.Error("found an operation that is not there")
	}
	if o := event.Op(0x01ff); o.Info() != nil || o.String() != "op-511" || o.Role() != event.RoleOther {
		t.Errorf("unknown operation is %v", o)
	}
}

func TestOneFunctionSetsTheDevice(t *testing.T) {
	for _, i := range event.Catalog {
		if i.SetsDevice && (i.Shape != event.ShapePlain || len(i.Args) == 0 || i.Args[0].Unit != event.UnitDevice) {
			t.Errorf("%s: the device is the first argument of a plain call", i.Name)
		}
	}
}
