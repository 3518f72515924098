package sqlite

import (
	"context"

	"github.com/ingero-io/ingero/store"
)

// HostIO implements store.Reader.
func (r *Reader) HostIO(ctx context.Context, w store.Window) (h store.HostIO, err error) {
	early := w // the sums of a second are stored under its start
	early.From -= min(early.From, second)
	if h.Sums, err = requestSumKind.read(ctx, r, bounds(early)); err != nil {
		return h, err
	}
	if h.Devices, err = deviceKind.read(ctx, r, nil); err != nil {
		return h, err
	}
	if h.Files, err = fileKind.read(ctx, r, nil); err != nil {
		return h, err
	}
	if h.Connections, err = connectionKind.read(ctx, r, bounds(w)); err != nil {
		return h, err
	}
	if h.Memory, err = hostMemoryKind.read(ctx, r, bounds(w)); err != nil {
		return h, err
	}
	h.Pages, err = pageKind.read(ctx, r, bounds(w))
	return h, err
}
