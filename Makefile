# Holdfast. Two targets do everything on a fresh Debian 12 with Go, as root:
#
#   make demo    the main job, on real guests, in about two minutes
#   make test    every test, on real libvirt too
#
# Both install the Debian packages they need when missing (and say so), clean up after themselves, and are safe to run twice.

SHELL      := /bin/bash
GO         ?= go
BIN        := bin/holdfast
CACHE      := $(CURDIR)/.cache
GUEST_DIR  ?= $(CACHE)/guest
export GUEST_DIR

.DEFAULT_GOAL := help
.PHONY: help build packages guest demo up down test lint unit soak bench generate clean

help: ## say what can be made
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

build: ## the one binary: bin/holdfast
	@$(GO) build -o $(BIN) ./cmd/holdfast

packages: ## install the Debian packages that the lab needs and that are missing
	@hack/packages.sh

guest: packages ## the test guest: a kernel and an initramfs that boot in seconds
	@hack/guest.sh

demo: packages guest build ## a VM's life on real hosts, as a story
	@hack/demo.sh

up: packages guest build ## a lab and a server to try things on
	@hack/up.sh

down: ## take down what "make up" made
	@hack/down.sh

lint: ## gofmt, vet, staticcheck
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt would change:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	@$(GO) vet ./...
	@$(GO) tool staticcheck ./...

test: packages guest lint ## everything: linters, rules, scenarios, properties, crash stories, real hosts; with the race detector
	@$(GO) test -race -timeout 30m ./...

unit: ## the tests that need neither root nor packages, quickly
	@$(GO) test -short ./...

soak: packages guest lint ## the same with the full counts and many seeds, and every fuzzer; takes hours
	@GO="$(GO)" hack/soak.sh

bench: ## what Holdfast costs and how fast it is, as tables
	@$(GO) test -run '^$$' -bench . -benchtime 1x ./internal/bench

generate: ## rewrite the references that are made from the code, and the scenarios' logs
	@$(GO) generate ./...

clean: ## remove what was built and downloaded
	@rm -rf bin $(CACHE)
