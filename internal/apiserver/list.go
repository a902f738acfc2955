package apiserver

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
)

// Watching is what each collection's GET understands. It is exported, as its like are, because huma fills embedded structs only
// when they are.
type Watching struct {
	Watch           bool   `query:"watch" doc:"Stream the changes instead of a list: one JSON object a line."`
	ResourceVersion string `query:"resourceVersion" doc:"Where a watch resumes: a list's resourceVersion, or the one of the last line that had one. Empty: begin with the current objects."`
}

// Selecting narrows a collection of objects.
type Selecting struct {
	Name          string `query:"name" doc:"Only the object of this name."`
	LabelSelector string `query:"labelSelector" doc:"Only objects with these labels: key=value, key!=value, key, !key, with commas between."`
}

// SelectingEvents narrows events.
type SelectingEvents struct {
	Kind string `query:"kind" doc:"Only events about objects of this kind."`
	Name string `query:"name" doc:"Only events about the object of this name."`
}

// filter chooses objects.
type filter struct {
	name string
	// about is the kind of the object that an event is about.
	about  string
	labels selector
}

func (q Selecting) filter() (filter, error) {
	labels, err := parseSelector(q.LabelSelector)
	if err != nil {
		return filter{}, newProblem(http.StatusUnprocessableEntity, err.Error(),
			v1.ProblemError{Location: "query.labelSelector", Message: err.Error()})
	}
	return filter{name: q.Name, labels: labels}, nil
}

func (q SelectingEvents) filter() filter { return filter{name: q.Name, about: q.Kind} }

// matches leaves the labels out.
func (f filter) matches(o v1.Object) bool {
	name := o.GetMetadata().Name
	if e, ok := o.(*v1.Event); ok {
		if f.about != "" && e.Object.Kind != f.about {
			return false
		}
		name = e.Object.Name
	}
	return f.name == "" || f.name == name
}

// collection is a kind of objects that can be listed and watched.
type collection[T any] struct {
	kind string
	tag  string
	list func(ctx context.Context, namespace string, f filter) ([]*T, string, error)
}

// objects is the collection of a kind whose objects are found by name.
func objects[T any, O interface {
	*T
	v1.Object
}](s *Server, kind, tag string) collection[T] {
	return collection[T]{kind, tag, func(ctx context.Context, namespace string, f filter) ([]*T, string, error) {
		list, version, err := registry.List[O](ctx, s.registry, registry.Scope{Namespace: namespace, Name: f.name})
		items := make([]*T, len(list))
		for i, o := range list {
			items[i] = o
		}
		return items, version, err
	}}
}

// registerList adds the GET of a collection: a list, or with watch=true a stream. where takes the input apart.
func registerList[I, T any](s *Server, api huma.API, op huma.Operation, c collection[T],
	where func(*I) (namespace string, w Watching, f filter, err error)) {
	op.Method, op.Tags = http.MethodGet, []string{c.tag}
	op.Description = "With watch=true the answer is a stream of lines instead; see the schema " + c.kind + "WatchLine."
	schemas := api.OpenAPI().Components.Schemas
	op.Responses = map[string]*huma.Response{"200": {
		Description: "A list, or with watch=true a stream.",
		Content: map[string]*huma.MediaType{
			"application/json":  {Schema: schemas.Schema(typeOf[v1.List[T]](), true, "")},
			"application/jsonl": {Schema: schemas.Schema(typeOf[v1.WatchLine[T]](), true, "")},
		},
	}}
	op.Errors = []int{http.StatusGone, http.StatusServiceUnavailable}
	huma.Register(api, op, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
		namespace, w, f, err := where(in)
		if err != nil {
			return nil, err
		}
		if w.Watch {
			return s.watch(ctx, c.kind, namespace, w.ResourceVersion, f)
		}
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		items, version, err := c.list(ctx, namespace, f)
		if err != nil {
			return nil, s.problemOf(err)
		}
		items = slices.DeleteFunc(items, func(o *T) bool {
			object := any(o).(v1.Object)
			return !f.matches(object) || !f.labels.matches(object.GetMetadata().Labels)
		})
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			ctx.SetHeader("Content-Type", "application/json")
			ctx.SetStatus(http.StatusOK)
			_ = huma.DefaultJSONFormat.Marshal(ctx.BodyWriter(), list(c.kind, items, version)) // who has hung up reads no answer
		}}, nil
	})
}

// list makes a list of objects of one kind.
func list[T any](kind string, items []*T, version string) *v1.List[*T] {
	if items == nil {
		items = []*T{}
	}
	return &v1.List[*T]{
		TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: kind + "List"},
		Metadata: v1.ListMeta{ResourceVersion: version},
		Items:    items,
	}
}
