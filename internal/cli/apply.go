package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
)

func newApply(a *app) *cobra.Command {
	var files []string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "apply -f FILE|DIR|-",
		Short: "Create and change objects as manifests say",
		Long: `Create and change objects as manifests say. A manifest is YAML or JSON, with any number of documents. Applying the same
manifest again changes nothing.

Everything is applied in one transaction, or nothing is: one bad document, in whichever of the files, changes nothing. A directory
stands for its files *.yaml, *.yml and *.json; - is standard input.`,
		Example: `  holdfast apply -f web.yaml
  holdfast apply -f manifests/ --dry-run
  generate-manifests | holdfast apply -f -`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			manifests, err := a.readManifests(files)
			if err != nil {
				return err
			}
			return a.apply(cmd.Context(), manifests, dryRun)
		},
	}
	a.fileFlag(cmd, &files)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "check everything on the server, and change nothing")
	return cmd
}

func (a *app) fileFlag(cmd *cobra.Command, files *[]string) {
	cmd.Flags().StringArrayVarP(files, "filename", "f", nil, "manifest `FILE`, directory of manifests, or - for standard input; may be repeated")
}

// readManifests reads what -f names.
func (a *app) readManifests(files []string) ([]v1.ManifestFile, error) {
	if len(files) == 0 {
		return nil, usageError("say which manifest with -f FILE; -f - reads standard input")
	}
	var all []v1.ManifestFile
	for _, f := range files {
		if f == "-" {
			text, err := io.ReadAll(a.In)
			if err != nil {
				return nil, fmt.Errorf("read standard input: %w", err)
			}
			all = append(all, v1.ManifestFile{Name: "standard input", Data: text})
			continue
		}
		paths, err := manifestPaths(f)
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			text, err := os.ReadFile(p)
			if err != nil {
				return nil, fileError(err)
			}
			all = append(all, v1.ManifestFile{Name: p, Data: text})
		}
	}
	return all, nil
}

// manifestPaths is the file itself, or the manifests in a directory in the order of their names.
func manifestPaths(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fileError(err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fileError(err)
	}
	var paths []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) {
			paths = append(paths, filepath.Join(path, e.Name()))
		}
	}
	if len(paths) == 0 {
		return nil, failed("the directory %s holds no manifest (*.yaml, *.yml, *.json)", path)
	}
	return paths, nil
}

// fileError words the system's error without the name of the call.
func fileError(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return failed("read %s: %s", p.Path, p.Err)
	}
	return err
}

func (a *app) apply(ctx context.Context, manifests []v1.ManifestFile, dryRun bool) error {
	for _, m := range manifests {
		if len(m.Data) == 0 {
			return failed("%s is empty: nothing was applied", m.Name)
		}
	}
	results, err := a.client().ApplyFiles(ctx, manifests, client.ApplyOptions{Namespace: a.namespace, DryRun: dryRun})
	if err != nil {
		return err
	}
	for _, r := range results {
		line := []string{shortKind(r.Kind) + "/" + r.Name, r.Result}
		if dryRun {
			line = append(line, "(dry run)")
		}
		fmt.Fprintln(a.Out, strings.Join(line, " "))
	}
	return nil
}
