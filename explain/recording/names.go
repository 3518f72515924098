package recording

import (
	"context"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

type processReader interface {
	Processes(ctx context.Context) ([]store.Process, error)
}

type threadReader interface {
	Threads(ctx context.Context) ([]store.ThreadInfo, error)
}

// Names returns the names of the recording's processes, by process id.
func (v *View) Names(ctx context.Context) (map[uint32]string, error) {
	if v.names != nil {
		return v.names, nil
	}
	list, err := v.Processes(ctx)
	if err != nil {
		return nil, err
	}
	v.names = make(map[uint32]string, len(list))
	for i := range list {
		v.names[list[i].PID] = list[i].Name
	}
	return v.names, nil
}

// ThreadNames returns the names of a recording's threads.
func ThreadNames(ctx context.Context, r threadReader) (map[event.Thread]string, error) {
	list, err := r.Threads(ctx)
	if err != nil {
		return nil, err
	}
	names := make(map[event.Thread]string, len(list))
	for i := range list {
		names[list[i].Thread] = list[i].Comm
	}
	return names, nil
}

// Traced returns the names of the traced processes of a recording.
func Traced(ctx context.Context, r processReader) (names []string, err error) {
	list, err := r.Processes(ctx)
	for i := range list {
		if list[i].Traced && list[i].Name != "" {
			names = append(names, list[i].Name)
		}
	}
	return names, err
}
