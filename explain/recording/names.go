package recording

import (
	"context"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Names returns the names of the recording's processes, by process id.
func (v *View) Names(ctx context.Context) (map[uint32]string, error) {
	if v.names != nil {
		return v.names, nil
	}
	list, err := store.List[store.Process](ctx, v, store.Window{})
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
func ThreadNames(ctx context.Context, r store.TableReader) (map[event.Thread]string, error) {
	list, err := store.List[store.ThreadInfo](ctx, r, store.Window{})
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
func Traced(ctx context.Context, r store.TableReader) (names []string, err error) {
	list, err := store.List[store.Process](ctx, r, store.Window{})
	for i := range list {
		if list[i].Traced && list[i].Name != "" {
			names = append(names, list[i].Name)
		}
	}
	return names, err
}
