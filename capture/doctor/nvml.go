package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ingero-io/ingero/capture/host/nvml"
)

// nvmlPatience is how long reading the GPUs may take: a sleeping GPU has to wake up.
const nvmlPatience = 10 * time.Second

// nvml says whether the GPUs can be read, and what of them cannot.
func (e *exam) nvml() Check {
	ctx, cancel := context.WithTimeout(context.Background(), nvmlPatience)
	defer cancel()
	s := nvml.Look(ctx, nvml.Options{Dirs: e.opts.NVML, Only: e.opts.NVML != nil})
	return nvmlCheck(&s)
}

// nvmlCheck describes the result of reading the GPUs.
func nvmlCheck(s *nvml.Seen) Check {
	c := Check{Name: "nvml", Status: OK}
	if s.Err != nil {
		return noNVML(s, c)
	}
	gpus := "1 GPU is"
	if s.Driver.GPUs != 1 {
		gpus = fmt.Sprintf("%d GPUs are", s.Driver.GPUs)
	}
	c.Detail = fmt.Sprintf("%s read each second through %s: driver %s, NVML %s%s",
		gpus, s.Library, s.Driver.Version, s.Driver.NVML, costWords(&s.State))
	if missing := missingWords(s); missing != "" {
		c.Status = Info
		c.Detail += "; not told: " + missing
	}
	return c
}

// costWords are the CPU time of the start, and of each reading after it.
func costWords(s *nvml.State) string {
	each, ok := s.PerReading()
	if !ok {
		return ""
	}
	return fmt.Sprintf("; a reading takes %s of CPU, and the start with the first one %s",
		each.Round(10*time.Microsecond), s.First.Round(10*time.Microsecond))
}

// noNVML says why nothing is read. Without a GPU that is normal.
func noNVML(s *nvml.Seen, c Check) Check {
	c.Status = Info
	c.Detail = s.Err.Error()
	if s.Library != "" {
		c.Detail = fmt.Sprintf("GPUs are not read: %v (%s)", s.Err, s.Library)
	}
	var f *nvml.Failure
	if !errors.As(s.Err, &f) {
		return c
	}
	switch f.Code {
	case nvml.DriverNotLoaded:
		c.Remedy = "none is needed on a machine without a GPU; else load the driver (nvidia-smi says what is wrong with it)"
	case nvml.VersionMismatch:
		c.Status, c.Remedy = Warning,
			"load the driver that belongs to the library, most simply by a reboot: one was updated without the other"
	case nvml.NoPermission, nvml.OperatingSystem:
		c.Status, c.Remedy = Warning, "let ingero open /dev/nvidiactl and /dev/nvidia*: in a container, give it the devices"
	default:
		c.Status = Warning
	}
	return c
}

// missingWords are the fields that could not be read, by reason.
func missingWords(s *nvml.Seen) string {
	type reason struct {
		why  nvml.Status
		gpus string
	}
	var order []reason
	fields := map[reason][]string{}
	for _, m := range s.Missing() {
		r := reason{m.Why, ""}
		if len(m.GPUs) < len(s.Readings) {
			r.gpus = " of GPU " + strings.Trim(strings.ReplaceAll(fmt.Sprint(m.GPUs), " ", ", "), "[]")
		}
		if !slices.Contains(order, r) {
			order = append(order, r)
		}
		fields[r] = append(fields[r], m.Field.String())
	}
	var words []string
	for _, r := range order {
		what := strings.Join(fields[r], ", ")
		if len(fields[r]) == len(nvml.Fields()) {
			what = "anything"
		}
		words = append(words, fmt.Sprintf("%s%s (%s)", what, r.gpus, r.why))
	}
	return strings.Join(words, "; ")
}
