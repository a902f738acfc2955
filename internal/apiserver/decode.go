package apiserver

import (
	"errors"
	"fmt"
	"net/http"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// decode reads the one object of a body as strictly as a manifest. want has its kind and what the URL says about it; the body
// may not say otherwise.
func decode[T any](body []byte, want v1.ObjectRef) (*T, error) {
	docs, err := v1.Decoder{Namespace: want.Namespace}.Decode(body)
	if err != nil {
		return nil, manifestProblem(err, "the body is not a valid "+want.Kind)
	}
	if len(docs) != 1 {
		return nil, newProblem(http.StatusUnprocessableEntity,
			fmt.Sprintf("the body has %d objects: send one %s, or several objects to %s/apply", len(docs), want.Kind, root))
	}
	object := docs[0].Object
	have := v1.RefTo(object)
	var wrong []v1.ProblemError
	check := func(field, have, want string) {
		if want != "" && have != want {
			line, column := docs[0].Position(field)
			wrong = append(wrong, v1.ProblemError{Location: field, Line: line, Column: column,
				Message: fmt.Sprintf("is %q, and the URL is about %q: make both the same", have, want)})
		}
	}
	check("kind", have.Kind, want.Kind)
	check("metadata.namespace", have.Namespace, want.Namespace)
	check("metadata.name", have.Name, want.Name)
	if len(wrong) > 0 {
		return nil, newProblem(http.StatusUnprocessableEntity, "the body is about another object than the URL", wrong...)
	}
	return any(object).(*T), nil
}

// manifestProblem says what is wrong with a body.
func manifestProblem(err error, detail string) error {
	var wrong v1.ManifestErrors
	if !errors.As(err, &wrong) {
		return newProblem(http.StatusUnprocessableEntity, detail+": "+err.Error())
	}
	p := newProblem(http.StatusUnprocessableEntity, detail)
	for _, e := range wrong {
		pe := fieldProblem(e.FieldError)
		pe.File, pe.Line, pe.Column = e.File, e.Line, e.Column
		p.Errors = append(p.Errors, pe)
	}
	return p
}
