"""The server of `polyqa serve`: a page, an HTTP API, server-sent events, OpenAI's and ColBERTv2's interfaces, and MCP.

Needs the extra ``serve``. Nothing here is imported before a server is started.
"""
