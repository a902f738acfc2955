package etcd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// revisionBump is added to the revision when a backup is restored, more than any fleet writes between two backups: what clients
// remember from the time after the backup must not look newer than what is written after the restore.
const revisionBump = 1_000_000_000

// Backup implements store.Store: it writes etcd's own snapshot with its checksum, which etcdutl reads, too. The file appears
// when it is complete, readable by its owner only; one that was there is replaced.
func (s *Store) Backup(ctx context.Context, path string) error {
	joined, leave, err := s.enter(ctx)
	if err != nil {
		return s.fail(ctx, err, "back up the store to %s", path)
	}
	defer leave()
	if err := s.backup(joined, path); err != nil {
		return s.fail(ctx, err, "back up the store to %s", path)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, path string) error {
	from, err := s.client.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once it has been renamed
	defer f.Close()
	if _, err := io.Copy(f, from); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Restore makes a new data directory for StartEmbedded from a backup. dir must not exist or be empty. Leases are not restored:
// nobody leads.
func Restore(backup, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("restore %s to %s: %w", backup, dir, err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("restore %s to %s: the directory is not empty: move it away first, so that nothing is lost", backup, dir)
	}
	c := config(Options{Dir: dir})
	err = snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath:        backup,
		Name:                c.Name,
		OutputDataDir:       dir,
		PeerURLs:            []string{c.AdvertisePeerUrls[0].String()},
		InitialCluster:      c.InitialCluster,
		InitialClusterToken: c.InitialClusterToken,
		RevisionBump:        revisionBump,
		MarkCompacted:       true,
	})
	if err != nil {
		return fmt.Errorf("restore %s to %s: %w", backup, dir, err)
	}
	return nil
}
