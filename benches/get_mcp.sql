select me.mcp_call('me_memory_get', '{"id": "0190a1b2-0000-7000-8000-000000005500"}');
