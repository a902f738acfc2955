package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// snapshot is the file that Backup writes.
type snapshot struct {
	Revision int64      `json:"revision"`
	Keys     []store.KV `json:"keys"`
}

// Backup implements store.Store: it writes all keys as JSON, for people and tests to read; nothing restores it.
func (h *Handle) Backup(ctx context.Context, path string) error {
	keys, rev, err := h.List(ctx, "")
	if err != nil {
		return fmt.Errorf("back up the store: %w", err)
	}
	b, err := json.MarshalIndent(snapshot{Revision: rev, Keys: keys}, "", "\t")
	if err != nil {
		return fmt.Errorf("back up the store: %w", err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return fmt.Errorf("back up the store: %w", err)
	}
	return nil
}
