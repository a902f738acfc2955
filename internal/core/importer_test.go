package core_test

import (
	"go/importer"
	"go/token"
	"go/types"
)

func stdImporter(fset *token.FileSet) types.Importer {
	return importer.ForCompiler(fset, "source", nil)
}
