"""The official Python client against a shim: shim_client.py PROGRAM"""

import asyncio
import os
import sys

import jsonschema
from mcp import Client, StdioServerParameters


async def main():
    env = {"MEMORY_ENGINE_URL": os.environ["MEMORY_ENGINE_URL"]}
    async with Client(StdioServerParameters(command=sys.argv[1], env=env), mode="legacy") as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}

        async def call(tool, **arguments):
            result = await client.call_tool(tool, arguments)
            if not result.is_error:
                jsonschema.validate(result.structured_content, schemas[tool])
            return result

        made = (await call("me_memory_create", content="the heron waits", tree="/share")).structured_content
        got = await call("me_memory_get", id=made["id"])
        assert got.structured_content == made and "content: the heron waits" in got.content[0].text, got
        await call("me_memory_update", id=made["id"], version_hash=made["versionHash"], content="it flew")
        stale = await call("me_memory_update", id=made["id"], version_hash=made["versionHash"], content="late")
        assert stale.is_error and "stale" in stale.content[0].text and "HINT" in stale.content[0].text, stale


asyncio.run(main())
