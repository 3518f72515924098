package accuracy

import "github.com/ingero-io/ingero/event"

// control is a run in which nothing is wrong, although it may look so.
type control struct {
	name    string
	allowed []string // kinds that may be reported
	needs   int      // CPUs
	args    func(*draw) (args, beside []string)
}

// controls are the runs without a fault.
var controls = []control{
	{name: "clean", args: func(d *draw) ([]string, []string) {
		return arguments("--fault none"), nil
	}},
	{name: "hog on another CPU", needs: 2, args: func(d *draw) ([]string, []string) {
		here, there := d.twoCPUs()
		busy := arguments("--seconds 60 --launches 0 --memcpy-us 0 --sync-us 0 --host-us 2000 --pin", there, "--name",
			d.pick(others))
		return arguments("--fault none --pin", here), busy
	}},
	{name: "very many switches elsewhere", needs: 2, args: func(d *draw) ([]string, []string) {
		here, there := d.twoCPUs()
		return arguments("--fault none --pin", here, "--ping-pong", there), nil
	}},
	{name: "idle server", args: func(d *draw) ([]string, []string) {
		return arguments("--fault idle-server --start-after 0.2 --period-ms", d.between(60, 200)), nil
	}},
	{name: "fewer than ten calls", args: func(d *draw) ([]string, []string) {
		// A copy, a launch and a synchronization a step; one of them is slow.
		return arguments("--steps 3 --launches 1 --fault gpu --start-after 0 --period-ms 60000 --fault-ms",
			d.between(30, 80)), nil
	}},
	{name: "cold start only", allowed: []string{event.CauseColdStart}, args: func(d *draw) ([]string, []string) {
		return arguments("--fault cold --start-after 0 --fault-ms", d.between(100, 600)), nil
	}},
	{name: "sleeping sibling", args: func(d *draw) ([]string, []string) {
		return arguments("--fault none --sleeper"), nil
	}},
	{name: "validation now and then", args: func(d *draw) ([]string, []string) {
		// As many launches as a step, and a wait 20 times as long, from a place of its own.
		return arguments("--fault none --validate", d.between(15, 60)), nil
	}},
	{name: "slow but steady GPU", args: func(d *draw) ([]string, []string) {
		return arguments("--fault none --sync-us", d.between(8000, 30000)), nil
	}},
}

func (k *control) draw(o *Options) Case {
	d := newDraw(o.Seed, k.name, o.CPUs, o.Quick)
	c := Case{Name: k.name, Allowed: k.allowed, needs: max(k.needs, 1)}
	c.Args = append(arguments("--seconds", o.seconds()), d.program(false)...)
	if len(o.CPUs) < c.needs {
		return c // it will be skipped
	}
	args, beside := k.args(d)
	c.Args, c.Beside = append(c.Args, args...), beside
	return c
}
