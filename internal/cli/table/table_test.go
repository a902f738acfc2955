package table

import (
	"strings"
	"testing"
)

func TestColumnsKeepTheirPlaces(t *testing.T) {
	var b strings.Builder
	table := New(&b, "NAME", "STATUS", "AGE")
	for _, rows := range [][][]string{
		{{"web", "Running", "4m"}, {"übung", "", "1h"}},
		{{"a", "B", "1s"}},
		{{"a-much-longer-name", "B", "1s"}},
		{{"a", "B", ""}},
	} {
		if err := table.Write(rows...); err != nil {
			t.Fatal(err)
		}
	}
	want := `NAME    STATUS    AGE
web     Running   4m
übung             1h
a       B         1s
a-much-longer-name   B         1s
a                    B
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestNoHeaders(t *testing.T) {
	var b strings.Builder
	if err := New(&b, "", "").Write([]string{"Name:", "web"}, []string{"Namespace:", "default"}); err != nil {
		t.Fatal(err)
	}
	if want := "Name:        web\nNamespace:   default\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
