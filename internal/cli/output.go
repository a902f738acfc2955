package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// format is how objects are written.
type format string

// The formats.
const (
	formatTable format = "table"
	formatWide  format = "wide"
	formatJSON  format = "json"
	formatYAML  format = "yaml"
	formatName  format = "name"
)

var formats = []string{string(formatTable), string(formatWide), string(formatJSON), string(formatYAML), string(formatName)}

// String, Set and Type implement pflag.Value, so that a wrong format is found before anything is done.
func (f *format) String() string { return string(*f) }

// Set takes one of the formats.
func (f *format) Set(s string) error {
	for _, known := range formats {
		if s == known {
			*f = format(s)
			return nil
		}
	}
	return fmt.Errorf("there are %s", strings.Join(formats, ", "))
}

// Type names the value in help texts.
func (f *format) Type() string { return "format" }

func (a *app) outputFlag(cmd *cobra.Command, f *format) {
	cmd.Flags().VarP(f, "output", "o", "`FORMAT`: table, wide, json, yaml or name")
	a.complete(cmd, "output", fixed(formats...))
}

// encode writes one whole document.
func encode(w io.Writer, f format, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil && f == formatYAML {
		text, err = yaml.JSONToYAML(text)
	} else {
		text = append(text, '\n')
	}
	if err != nil {
		return fmt.Errorf("write %T as %s: %w", v, f, err)
	}
	_, err = w.Write(text)
	return err
}

// encodeOne writes one document of a stream: JSON on one line, YAML behind a separator.
func encodeOne(w io.Writer, f format, v any) error {
	if f == formatYAML {
		if _, err := io.WriteString(w, "---\n"); err != nil {
			return err
		}
		return encode(w, f, v)
	}
	return json.NewEncoder(w).Encode(v)
}
