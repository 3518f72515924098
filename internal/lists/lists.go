// Package lists empties and counts structures of slices by reflection, so that callers need not
// name every slice, and a new one cannot be forgotten. It is not for hot paths. InTurn goes round the keys of a map.
package lists

import "reflect"

// Reset empties the structure that v points to: slices keep their memory, nested structures
// are emptied in the same way, and everything else gets its zero value. Fields must be
// exported.
func Reset(v any) { reset(reflect.ValueOf(v).Elem()) }

func reset(v reflect.Value) {
	for _, f := range v.Fields() {
		switch f.Kind() {
		case reflect.Slice:
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
func Len(v any) int { return count(reflect.ValueOf(v).Elem()) }

func count(v reflect.Value) (n int) {
	for _, f := range v.Fields() {
		switch f.Kind() {
		case reflect.Slice:
			n += f.Len()
		case reflect.Struct:
			n += count(f)
		case reflect.Pointer:
			if !f.IsNil() {
				n++
			}
		}
	}
	return n
}
