#!/usr/bin/env python3
"""One session of the Python SDK's client with an MCP server: session.py MODE CALLS.json SERVER [ARG...]

CALLS is a list of [TOOL, ARGUMENTS]. Prints one JSON object: the protocol that was spoken, the instructions, the names of the tools, and of
each call whether it was marked as an error, its text and its structured content. The client checks answers against the tools' schemas.
"""
import asyncio
import json
import sys

from mcp import Client, StdioServerParameters

mode, calls, server = sys.argv[1], json.load(open(sys.argv[2])), sys.argv[3:]


async def main():
    transport = StdioServerParameters(command=server[0], args=server[1:])
    async with Client(transport, mode=mode, read_timeout_seconds=20) as client:
        tools = await client.list_tools()
        answers = []
        for name, args in calls:
            got = await client.call_tool(name, args)
            text = [part.text for part in got.content]
            answers.append({"error": bool(got.is_error), "text": text, "structured": got.structured_content})
        told = {"protocol": client.protocol_version, "instructions": client.instructions}
        print(json.dumps({**told, "tools": [tool.name for tool in tools.tools], "answers": answers}))


asyncio.run(asyncio.wait_for(main(), 60))
