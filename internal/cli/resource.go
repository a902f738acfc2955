package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
)

// resource is one kind of objects as the commands know it.
type resource[T any] struct {
	kindNames
	namespaced bool
	columns    []column[T]
	meta       func(*T) *v1.ObjectMeta
	// get reads one object.
	get func(ctx context.Context, c *client.Client, namespace, name string) (*T, error)
	// list reads many; nil when there is only one object of the kind, which get returns.
	list func(ctx context.Context, c *client.Client, namespace string, o client.ListOptions) (*v1.List[T], error)
	// watch follows them; nil when the kind cannot be watched.
	watch func(ctx context.Context, c *client.Client, namespace string, o client.WatchOptions) client.Watch[T]
	// look reads what the columns need beside the objects; nil when they need nothing.
	look func(ctx context.Context, c *client.Client, v *view) error
	// less orders rows; nil means by namespace and name.
	less func(a, b *T) int
}

// kindNames are the words for a kind.
type kindNames struct {
	// kind as in manifests; short as in "vm/web"; plural for sentences.
	kind, short, plural string
	// words that the command line takes for it, besides short.
	words []string
}

// column is one column of a kind's table.
type column[T any] struct {
	header string
	// wide: only with -o wide.
	wide bool
	cell func(*T, *view) string
	// ticks: the cell changes with the clock alone, which is no news in a watch.
	ticks bool
}

// view is what cells need beside the object.
type view struct {
	now time.Time
	// promised is what the VMs take on each host.
	promised map[string]promise
}

// promise is what a host has promised to VMs.
type promise struct {
	vms    int
	memory v1.Quantity
	cpus   int
}

// anyKind is a resource whatever its type.
type anyKind interface {
	names() kindNames
	print(ctx context.Context, a *app, o *getOptions, names []string) error
	follow(ctx context.Context, a *app, o *getOptions, names []string) error
	objectNames(ctx context.Context, c *client.Client, namespace string) ([]string, error)
}

func (r *resource[T]) names() kindNames { return r.kindNames }

// kinds that "get" knows.
var kinds = []anyKind{&vmKind, &hostKind, &eventKind, &actionKind, &configKind}

// kindOf finds the kind that a user's word means.
func kindOf(word string) (anyKind, error) {
	known := make([]string, len(kinds))
	for i, k := range kinds {
		n := k.names()
		if w := strings.ToLower(word); w == n.short || slices.Contains(n.words, w) {
			return k, nil
		}
		known[i] = n.short
	}
	return nil, usageError("%q is no kind of object; there are %s", word, strings.Join(known, ", "))
}

// namespaceFor is where to look: the flag's, or the default one.
func (a *app) namespaceFor() string {
	if a.namespace == "" {
		return v1.DefaultNamespace
	}
	return a.namespace
}

// targets takes "vm web db" and "vm/web vm/db" apart: the kind and the names.
func targets(words []string) (anyKind, []string, error) {
	first, name, slash := strings.Cut(words[0], "/")
	k, err := kindOf(first)
	if err != nil || !slash {
		return k, words[1:], err
	}
	names := []string{name}
	for _, w := range words[1:] {
		n, err := nameOf(k, w)
		if err != nil {
			return nil, nil, err
		}
		names = append(names, n)
	}
	return k, names, nil
}

// nameOf is the name in "web" or "vm/web".
func nameOf(k anyKind, word string) (string, error) {
	first, name, slash := strings.Cut(word, "/")
	if !slash {
		return word, nil
	}
	other, err := kindOf(first)
	if err != nil {
		return "", err
	}
	if other != k {
		return "", usageError("%q is not a %s: one command takes one kind", word, k.names().short)
	}
	return name, nil
}

// fetch reads the named objects, or all. Errors of single names come beside the objects that were found.
func (r *resource[T]) fetch(ctx context.Context, c *client.Client, o *getOptions, names []string) ([]T, []error) {
	if r.list == nil && len(names) == 0 {
		names = []string{""}
	}
	if len(names) == 0 {
		list, err := r.list(ctx, c, o.namespace, client.ListOptions{LabelSelector: o.selector})
		if err != nil {
			return nil, []error{err}
		}
		r.sort(list.Items)
		return list.Items, nil
	}
	var items []T
	var errs []error
	for _, name := range names {
		item, err := r.get(ctx, c, o.namespace, name)
		if err != nil {
			errs = append(errs, err)
			if !client.IsNotFound(err) {
				break
			}
			continue
		}
		items = append(items, *item)
	}
	return items, errs
}

func (r *resource[T]) sort(items []T) {
	slices.SortStableFunc(items, func(a, b T) int {
		if r.less != nil {
			return r.less(&a, &b)
		}
		ma, mb := r.meta(&a), r.meta(&b)
		return strings.Compare(ma.Namespace+"/"+ma.Name, mb.Namespace+"/"+mb.Name)
	})
}

// objectNames lists names for completion.
func (r *resource[T]) objectNames(ctx context.Context, c *client.Client, namespace string) ([]string, error) {
	if r.list == nil {
		return nil, nil
	}
	list, err := r.list(ctx, c, namespace, client.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", r.plural, err)
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = r.meta(&list.Items[i]).Name
	}
	return names, nil
}
