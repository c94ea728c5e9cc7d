# `make help` lists the commands. PG=16, 17 or 18 chooses the PostgreSQL (18 unless said); tests take several: PG="17 18",
# or PG=all.

PG ?= 18
export PG

.PHONY: help demo test up down psql url lint bench bench-full mcp mcp-config install clean setup reset

help:
	@echo 'make demo                  set up what is missing and show what the extension does'
	@echo 'make test [PG=16|17|18|all]  run all tests'
	@echo 'make up                    a private PostgreSQL with the extension in database memory'
	@echo 'make psql, make url        open psql there, print its connection URL'
	@echo 'make down, make reset      stop it, throw its data away'
	@echo 'make mcp-config            build the MCP server and print what connects an agent to it'
	@echo 'make lint, make bench      check the form, measure'
	@echo 'make bench-full            measure at 10,000, 100,000 and a million memories (an hour, 10 GB of disk)'
	@echo 'make install PG_CONFIG=…   install into a server of your own'
	@echo 'make clean                 stop all servers and remove all that was made here'

setup:
	@scripts/setup-tools
	@scripts/setup-pg $(PG)
	@scripts/setup-pgrx $(PG)

up: setup
	@scripts/build $(PG) --release
	@scripts/server up

down psql url reset:
	@scripts/server $@

demo: up
	@scripts/demo

test:
	@scripts/test

lint:
	@scripts/test lint

bench: up
	@scripts/bench

bench-full: up
	@scripts/bench full

mcp:
	@scripts/setup-tools
	@scripts/build-mcp

mcp-config: up mcp
	@scripts/mcp-config

install:
	@scripts/install

clean:
	@scripts/clean
