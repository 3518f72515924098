// Package lists empties and counts structures that are made of lists, so that nothing has to name
// every list of them: one that is added is not forgotten. It is not for hot paths.
package lists

import "reflect"

// Reset empties what v points to, a structure: slices keep their memory, structures in it are
// emptied alike, and all else gets its zero value. Fields have to be exported.
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

// Len is how many elements the slices of what v points to, a structure, have in all. Structures in
// it are counted alike, a pointer that is not nil is one element, and all else none.
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
