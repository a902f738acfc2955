package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/cli/table"
)

// follow shows what is there and then each change, until ctx ends.
func (r *resource[T]) follow(ctx context.Context, a *app, o *getOptions, names []string) error {
	if r.watch == nil {
		return usageError("%s cannot be watched", r.plural)
	}
	options := client.WatchOptions{LabelSelector: o.selector, OnDisconnect: func(error) {
		fmt.Fprintln(a.Err, "The connection to the server is lost; waiting for it to come back.")
	}}
	if len(names) == 1 {
		options.Name = names[0]
	}
	f := &follower[T]{resource: r, app: a, options: o, shown: map[string]string{}, table: table.New(a.Out, r.headers(o)...)}
	var first []T
	synced := false
	for event, err := range r.watch(ctx, a.client(), o.namespace, options) {
		switch {
		case errors.Is(err, context.Canceled):
			return nil // Ctrl-C is how a watch ends
		case err != nil:
			return err
		case event.Type == client.Synced:
			synced = true
			r.sort(first)
			if err := f.show(ctx, false, first...); err != nil {
				return err
			}
			continue
		case len(names) > 0 && !slices.Contains(names, r.meta(event.Object).Name):
			continue
		case !synced:
			first = append(first, *event.Object)
			continue
		}
		if err := f.show(ctx, event.Type == client.Deleted, *event.Object); err != nil {
			return err
		}
	}
	return nil
}

// follower writes the news of a watch.
type follower[T any] struct {
	resource *resource[T]
	app      *app
	options  *getOptions
	table    *table.Table
	// shown is the newest row of each object, without what only the clock changes.
	shown map[string]string
}

func (f *follower[T]) show(ctx context.Context, gone bool, items ...T) error {
	switch f.options.output {
	case formatName:
		for i := range items {
			fmt.Fprintf(f.app.Out, "%s/%s\n", f.resource.short, f.resource.meta(&items[i]).Name)
		}
		return nil
	case formatJSON, formatYAML:
		for i := range items {
			if err := encodeOne(f.app.Out, f.options.output, &items[i]); err != nil {
				return err
			}
		}
		return nil
	}
	v, err := f.resource.view(ctx, f.app)
	if err != nil {
		return err
	}
	var rows [][]string
	for i := range items {
		if row := f.news(&items[i], gone, v); row != nil {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return f.table.Write(rows...)
}

// news is the row of an object, or nil when it reads as before.
func (f *follower[T]) news(item *T, gone bool, v *view) []string {
	row := f.resource.row(f.options, item, v)
	headers := f.resource.headers(f.options)
	meta := f.resource.meta(item)
	key := meta.Namespace + "/" + meta.Name
	if gone {
		delete(f.shown, key)
		for i, h := range headers {
			if h == "STATUS" || h == "STATE" {
				row[i] = "Deleted"
			}
		}
		return row
	}
	var steady []string
	for i, h := range headers {
		if !f.resource.ticks(h) {
			steady = append(steady, row[i])
		}
	}
	text := strings.Join(steady, "\x00")
	if f.shown[key] == text {
		return nil
	}
	f.shown[key] = text
	return row
}

func (r *resource[T]) ticks(header string) bool {
	return slices.ContainsFunc(r.columns, func(c column[T]) bool { return c.header == header && c.ticks })
}
