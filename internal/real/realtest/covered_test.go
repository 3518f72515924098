package realtest

import (
	"slices"
	"strings"
	"testing"
)

func TestFunctionsThatAreNotTracedNeedAReason(t *testing.T) {
	t.Parallel()
	r, errs := classify("a program", map[string]uint64{
		"cudaLaunchKernel": 5, "cudaLaunchKernel_ptsz": 1, "cuInit": 1, "cudaGetLastError": 7, "cublasSgemm_v2": 3,
		"cudaFree": 0, "cudaGraphicsMapResources": 1, "cudaBrandNewLaunch": 2, "__cudaRegisterFunction": 9,
	})
	want := []string{"__cudaRegisterFunction", "cudaBrandNewLaunch", "cudaGetLastError", "cudaGraphicsMapResources"}
	if r.traced != 2 || !slices.Equal(r.untraced, want) {
		t.Errorf("%+v", r)
	}
	said := ""
	for _, err := range errs {
		said += err.Error() + "\n"
	}
	if len(errs) != 2 || !strings.Contains(said, "cudaBrandNewLaunch 2 times: it is not traced, and event") ||
		!strings.Contains(said, "cudaGraphicsMapResources 1 times: it is not traced, and it matters") {
		t.Errorf("%s", said)
	}
	if again, ok := parse(strings.TrimSuffix(r.String(), "\n")); !ok || again.String() != r.String() {
		t.Errorf("%q is read as %+v", r.String(), again)
	}
	for _, line := range []string{"", "| program | traced | not traced |", "|---|---|---|", "| a | b |"} {
		if got, ok := parse(line); ok {
			t.Errorf("%q is read as %+v", line, got)
		}
	}
}
