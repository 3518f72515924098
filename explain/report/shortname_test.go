package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ianlancetaylor/demangle"
)

// The names are from the symbol tables of llama.cpp (libggml-cuda, libllama) and PyTorch 2.15 (libtorch_cuda,
// libtorch_cpu).
func TestNamesOfRealFunctionsAreShortened(t *testing.T) {
	const boxed = "_ZN3c104impl18BoxedKernelWrapperIFNS_13intrusive_ptrIN4c10d4WorkENS_6detail34intrusive_target_" +
		"default_null_typeIS4_EEEENS_8ArrayRefIN2at6TensorEEERKNS2_INS3_12ProcessGroupENS6_ISD_EEEElEvE4callERKNS_" +
		"11BoxedKernelERKNS_14OperatorHandleENS_14DispatchKeySetESC_SH_l"
	const jitted = "_ZZN2at6nativeL22jitted_gpu_kernel_implIXadL_ZNS0_L9sqrt_nameEEEN3c107complexIfEES4_Li1ELNS_4cuda3" +
		"jit17BinaryFuncVariantE0EJEEEvRNS_18TensorIteratorBaseERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEb" +
		"NS_10OpMathTypeIT1_E4typeERKSt5tupleIJDpT4_EEE4desc"
	const fattn = "_Z12launch_fattnILi112ELi16ELi1EEvR25ggml_backend_cuda_contextP11ggml_tensorPFvPKcS5_S5_S5_S5_PKiPfP6" +
		"float2ffffjfi5uint3iiiiiiiiiiiliiliiiiilEimibbbbi"
	const matrix = "_Z14mul_mat_f_cudaI14__nv_bfloat162Li32ELi2EEvPKT_PKfPKiPflllllllllllllllllllP11CUstream_stPK12" +
		"mmf_ids_data"
	const add = "_Z19ggml_cuda_op_add_idR25ggml_backend_cuda_contextP11ggml_tensor"
	for _, c := range []struct {
		linked string
		width  int
		want   string
	}{
		{add, 80, "ggml_cuda_op_add_id(ggml_backend_cuda_context&, ggml_tensor*)"},
		{add, 40, "ggml_cuda_op_add_id(…)"},
		{fattn, 80, "launch_fattn<112, 16, 1>(…)"},
		{matrix, 80, "mul_mat_f_cuda<__nv_bfloat162, 32, 2>(…)"},
		{matrix, 30, "mul_mat_f_cuda<…>(…)"},
		{boxed, 120, "c10::impl::BoxedKernelWrapper<c10::intrusive_ptr<…> (…), void>::call(…)"},
		{boxed, 60, "c10::impl::BoxedKernelWrapper<…>::call(…)"},
		{jitted, 80, "at::native::jitted_gpu_kernel_impl<…>(…)::desc"},
	} {
		name := demangle.Filter(c.linked)
		if name == c.linked {
			t.Fatalf("%s is no name", c.linked)
		}
		if got := ShortName(name, c.width); got != c.want {
			t.Errorf("%d of %s:\ngot  %s\nwant %s", c.width, name, got, c.want)
		}
	}
}

func TestShortName(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"main", "main"},
		{"a<b>(c)", "a<b>(c)"}, // short enough
		{"(anonymous namespace)::step(std::vector<int>&)", "(anonymous namespace)::step(…)"},
		{"foo<(ggml_type)2, 64, false, 128, 128>(float)", "foo<…>(…)"},
		{"operator<< <std::char_traits<char> >(std::ostream&)", "operator<< <std::char_traits<char> >(…)"},
		{"bool operator< <first, second>(first const&)", "bool operator< <first, second>(…)"},
		{"Some::operator()(std::vector<float, int>) const", "Some::operator()(…) const"},
		{"std::shared_ptr<Thing>::operator->() const volatile", "std::shared_ptr<…>::operator->() const volatile"},
		{"f<&Foo::operator<, A<B<C>>, D<E<F>>>(int, int)::{lambda(int)#1}", "f<…>(…)::{lambda(…)#1}"},
		{"run<(1<2), std::integral_constant<bool, (3>2)> >(int)", "run<…>(…)"},
		{"<alloc::vec::Vec<T, A> as core::ops::Drop>::drop", "<alloc::vec::Vec<…> as core::ops::Drop>::drop"},
		{
			"/srv/app (copy)/train_with_a_long_name.py:12 in <module>",
			"/srv/app (copy)/train_with_a_long_name.py:12 in <module>",
		},
		{"<frozen importlib._bootstrap_external>:1234 in _call_", "<frozen importlib._bootstrap_external>:1234 in _call_"},
		{"cut<int, std::vector<std::basic_string<char, std::cha", "cut<int, std::vector<std::basic_string<…"},
		{"void kernel<float, double, unsigned long>(float const*)", "kernel<float, double, unsigned long>(…)"},
		{"foo(std::vector<int>, std::vector<int>) [clone .isra.0] [libx.so]", "foo(…) [clone .isra.0] [libx.so]"},
		{"a)b>c}d)e>f}g)h>i}j)k>l}m)n>o}p)q>r}s(t<u", "a)b>c}d)e>f}g)h>i}j)k>l}m)n>o}p)q>r}s(…"},
	} {
		if got := ShortName(c.name, 40); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
	if got := ShortName(strings.Repeat("a<(", 5000), 40); utf8.RuneCountInString(got) > 15000 {
		t.Errorf("a hostile name became %d long", len(got))
	}
}

func FuzzShortName(f *testing.F) {
	f.Add("a<b<c>, (d)>::operator<< <e>(f)", 10)
	f.Fuzz(func(t *testing.T, name string, width int) {
		if !utf8.ValidString(name) {
			return
		}
		if got := ShortName(name, width); !utf8.ValidString(got) ||
			utf8.RuneCountInString(got) > 2*utf8.RuneCountInString(name) {
			t.Errorf("%q became %q", name, got)
		}
	})
}

func TestPythonLinesComeFirst(t *testing.T) {
	var frames []string
	for range 20 {
		frames = append(frames, "at::native::copy_kernel<float, c10::Half>(at::TensorIterator&) [libtorch_cpu.so]")
	}
	frames = append(frames, "train.py:74 in save", "_PyEval_Vector [python3.11]", "/srv/lib/loop.py:12 in <module>",
		"_start [python3.11]")
	x := newText(TextOptions{Width: 60})
	x.stack(frames)
	const line = "at::native::copy_kernel<…>(…) [libtorch_cpu.so]\n"
	want := "  python train.py:74 in save\n         /srv/lib/loop.py:12 in <module>\n  stack  " + line +
		strings.Repeat("         "+line, 4) + "         … 17 more (--json has them)\n"
	if got := x.b.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	x = newText(TextOptions{Width: 60})
	x.stack([]string{"save (train.c:74) [train]", "main [train]"})
	if got, want := x.b.String(), "  stack  save (train.c:74) [train]\n         main [train]\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
