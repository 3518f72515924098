// Package lists empties, counts and copies structures of slices by reflection, so that callers need not
// name every slice, and a new one cannot be forgotten. It is not for hot paths. InTurn goes round the keys of a map.
package lists

import "reflect"

// Reset empties the structure that v points to: slices keep their memory, but not what their elements refer to, nested
// structures are emptied in the same way, and everything else gets its zero value. Fields must be exported.
func Reset(v any) { reset(reflect.ValueOf(v).Elem()) }

func reset(v reflect.Value) {
	for _, f := range v.Fields() {
		switch f.Kind() {
		case reflect.Slice:
			f.Clear()
			f.SetLen(0)
		case reflect.Struct:
			reset(f)
		default:
			f.SetZero()
		}
	}
}

// Len is the total number of elements in the slices of the structure that v points to. Nested
// structures are counted in the same way; a non-nil pointer counts as one element, everything else
// as none.
func Len(v any) int { return countElements(reflect.ValueOf(v).Elem()) }

func countElements(v reflect.Value) (n int) {
	for _, f := range v.Fields() {
		switch f.Kind() {
		case reflect.Slice:
			n += f.Len()
		case reflect.Struct:
			n += countElements(f)
		case reflect.Pointer:
			if !f.IsNil() {
				n++
			}
		}
	}
	return n
}

// Clone returns a copy of a structure whose slices share no memory with its own. Nested structures are copied in the
// same way; what elements and pointers refer to is shared.
func Clone[T any](v T) T {
	clone(reflect.ValueOf(&v).Elem())
	return v
}

func clone(v reflect.Value) {
	for _, f := range v.Fields() {
		switch f.Kind() {
		case reflect.Slice:
			if !f.IsNil() {
				f.Set(reflect.AppendSlice(reflect.MakeSlice(f.Type(), 0, f.Len()), f))
			}
		case reflect.Struct:
			clone(f)
		}
	}
}
