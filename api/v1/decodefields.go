package v1

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

var fieldCache sync.Map // reflect.Type → map[string][]int

// fieldsOf are the fields of a struct by the names that manifests use.
func fieldsOf(t reflect.Type) map[string][]int {
	if cached, ok := fieldCache.Load(t); ok {
		return cached.(map[string][]int)
	}
	fields := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		if name := fieldName(f); name != "" {
			fields[name] = f.Index
		}
	}
	fieldCache.Store(t, fields)
	return fields
}

// fieldNames are the names of a struct's fields in their order.
func fieldNames(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name := fieldName(f); name != "" && name != "status" {
			names = append(names, name)
		}
	}
	return names
}

func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// suggest is the remedy for a field that a struct does not have: the one that was probably meant, the place where it belongs, or
// what there is. meant is the path of the field that it should have been, if that is known.
func suggest(name string, t reflect.Type, path string) (remedy, meant string) {
	names := fieldNames(t)
	if best := closest(name, names); best != "" {
		return fmt.Sprintf("did you mean %q?", best), join(path, best)
	}
	if place := placeOf(name, t, path, 3); place != "" {
		return "it belongs under " + place, join(place, name)
	}
	return "the fields here are " + andList(names), ""
}

// placeOf finds the nearest struct below t that has a field of that name.
func placeOf(name string, t reflect.Type, path string, depth int) string {
	if depth == 0 {
		return ""
	}
	var below []func() string
	for _, f := range reflect.VisibleFields(t) {
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		field := fieldName(f)
		if inner.Kind() != reflect.Struct || field == "" || field == "status" || field == "metadata" {
			continue
		}
		if _, ok := fieldsOf(inner)[name]; ok {
			return join(path, field)
		}
		below = append(below, func() string { return placeOf(name, inner, join(path, field), depth-1) })
	}
	for _, look := range below {
		if place := look(); place != "" {
			return place
		}
	}
	return ""
}

// closest is the candidate that a misspelt word is nearest to, or empty when none is near enough to be meant.
func closest(word string, candidates []string) string {
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, c := range candidates {
		if strings.EqualFold(word, c) {
			return c
		}
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the number of typing errors between two words: a letter missing, added, wrong, or two swapped.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			wrong := 1
			if a[i-1] == b[j-1] {
				wrong = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+wrong)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// oneOf is the remedy for a word that must be one of a few.
func oneOf(word string, allowed []string) string {
	if best := closest(word, allowed); best != "" {
		return fmt.Sprintf("did you mean %s? It is one of %s", best, orList(allowed))
	}
	return "write " + orList(allowed)
}

func orList(words []string) string  { return wordList(words, " or ") }
func andList(words []string) string { return wordList(words, " and ") }

func wordList(words []string, last string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + last + words[n-1]
}
