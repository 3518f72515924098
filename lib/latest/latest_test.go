package latest

import "testing"

func TestWhatIsUsedIsKept(t *testing.T) {
	t.Parallel()
	const most = 10
	m := New[int, int](most)
	m.Put(-1, 1)
	for n := range 1000 {
		m.Put(n, n)
		for k := max(0, n-most+2); k <= n; k++ { // the last ones, with -1
			if v, ok := m.Get(k); !ok || v != k {
				t.Fatalf("after %d, %d is %d, %v", n, k, v, ok)
			}
		}
		if v, ok := m.Get(-1); !ok || v != 1 {
			t.Fatalf("after %d others, what is used is lost", n)
		}
		if m.Len() > 2*most {
			t.Fatalf("%d are kept", m.Len())
		}
	}
	if _, ok := m.Get(3); ok {
		t.Error("what was not used for long is kept")
	}
	m.Put(-1, 2)
	if v, _ := m.Get(-1); v != 2 {
		t.Errorf("it is %d", v)
	}
	if m.Delete(-1); m.Len() > 0 {
		if _, ok := m.Get(-1); ok {
			t.Error("it is there")
		}
	}
}
