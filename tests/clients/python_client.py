"""The official Python client: python_client.py REVISION stdio PROGRAM | http URL KEY"""

import asyncio
import json
import os
import re
import sys
import time

import httpx2
import jsonschema
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


async def round_trip(client):
    schemas = {}

    async def call(tool, /, **arguments):
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result
        jsonschema.validate(result.structured_content, schemas[tool])
        return result

    tools = (await client.list_tools()).tools
    for tool in tools:
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        schemas[tool.name] = tool.output_schema
    assert len(tools) > 30, len(tools)

    name = f"p{os.getpid()}-{time.time_ns()}"
    created = await call("me_memory_create", content="the heron waits", tree="/share/clients", name=name)
    memory = created.structured_content
    got = await call("me_memory_get", id=memory["id"])
    assert got.structured_content == memory
    assert re.search("^content: the heron waits$", got.content[0].text, re.M), got
    found = await call("me_memory_search", fulltext="heron", tree="/share/clients")
    assert memory["id"] in [result["id"] for result in found.structured_content["results"]]
    read = await client.read_resource(f"memory://default/share/clients/{name}")
    assert read.contents[0].text == "the heron waits"
    await call("me_memory_update", id=memory["id"], version_hash=memory["versionHash"], content="it flew")
    stale = await client.call_tool(
        "me_memory_update", {"id": memory["id"], "version_hash": memory["versionHash"], "content": "too late"}
    )
    assert stale.is_error and "stale" in stale.content[0].text and "HINT: " in stale.content[0].text, stale

    ingested = await call(
        "memory_ingest", content=f"Herons nest in March {name}.", source="field-notes", anchor="notes.md:1",
        project_id="clients",
    )
    capsule = re.search(r'"(cap-\d+)"', json.dumps(ingested.structured_content)).group(1)
    assert (await call("memory_get", id=capsule)).structured_content["label"] == "ADVISORY_NOT_AUTHORITY"
    recalled = await call("memory_retrieve", terms=["herons", "march"], project_id="clients")
    assert capsule in json.dumps(recalled.structured_content)
    try:
        await client.call_tool("memory_get", {"id": "cap-999999"})
        raise AssertionError("an unknown capsule was found")
    except MCPError as error:
        assert error.error.data == {"kind": "unknown_capsule", "id": "cap-999999"}, error.error


async def main():
    revision, kind, where, *key = sys.argv[1:]
    mode = revision if revision == "2026-07-28" else "legacy"
    if kind == "stdio":
        server = StdioServerParameters(command=where, env={"MEMORY_ENGINE_URL": os.environ["MEMORY_ENGINE_URL"]})
        async with Client(server, mode=mode) as client:
            await round_trip(client)
    else:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key[0]}"}) as http:
            async with Client(streamable_http_client(where, http_client=http), mode=mode) as client:
                await round_trip(client)


asyncio.run(main())
