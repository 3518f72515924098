package lists

import "testing"

type inner struct{ Texts []string }

type outer struct {
	inner   // of another structure
	Numbers []int
	Nested  inner
	Pointer *int
	Number  int
}

func TestResetEmptiesAndKeepsMemory(t *testing.T) {
	o := outer{Numbers: []int{1, 2}, Nested: inner{[]string{"a"}}, Pointer: new(int), Number: 3}
	o.Texts = []string{"b", "c"}
	if n := Len(&o); n != 6 {
		t.Errorf("%d elements, want 6", n)
	}
	Reset(&o)
	if n := Len(&o); n != 0 || o.Pointer != nil || o.Number != 0 {
		t.Errorf("after Reset: %+v, %d elements", o, n)
	}
	if cap(o.Numbers) != 2 || cap(o.Texts) != 2 || cap(o.Nested.Texts) != 1 {
		t.Errorf("memory is not kept: %+v", o)
	}
}

func TestCloneSharesNoSlices(t *testing.T) {
	o := outer{Numbers: []int{1}, Nested: inner{[]string{"a"}}, Number: 3}
	c := Clone(o)
	o.Numbers[0], o.Nested.Texts[0] = 2, "b"
	if c.Numbers[0] != 1 || c.Nested.Texts[0] != "a" || c.Number != 3 || c.Texts != nil {
		t.Errorf("the copy is %+v", c)
	}
}
