"""An MCP server over stdio with two tools, for the eval: `depth` of a berth, `fee` for some nights."""
import json
import sys

NUMBER = {"type": "integer"}


def tool(name, what, argument):
    schema = {"type": "object", "properties": {argument: NUMBER}, "required": [argument]}
    return {"name": name, "description": what, "inputSchema": schema, "annotations": {"readOnlyHint": True}}


TOOLS = [
    tool("depth", "The depth of the harbour at a berth, in metres.", "berth"),
    tool("fee", "The fee for some nights in the harbour, in crowns.", "nights"),
]
DEPTHS = {4: "8.5", 7: "11.25"}


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "harbour", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        given = params.get("arguments") or {}
        if params.get("name") == "depth":
            berth = given.get("berth")
            text = f"Berth {berth}: {DEPTHS.get(berth, '6.0')} metres."
        else:
            text = f"{19 * given.get('nights', 0)} crowns."
        return {"content": [{"type": "text", "text": text}]}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request.get("method"), request.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
