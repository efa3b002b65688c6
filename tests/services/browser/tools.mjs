// An MCP server with one tool, which takes words, numbers and choices, and says what it was given.
import readline from "node:readline";

const BOOK = {
  name: "book",
  description: "Books a room. <img src=seen.png onerror=\"document.title='taken'\">",
  inputSchema: {
    type: "object",
    properties: {
      hotel: { type: "string", description: "<img src=seen.png onerror=\"document.title='taken'\">" },
      nights: { type: "integer" },
      price: { type: "number" },
      class: { enum: ["first", "second", 3] },
      constructor: { type: "string" },
    },
    required: ["hotel", "nights"],
  },
};

const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "rooms", version: "1" } }),
  "tools/list": () => ({ tools: [BOOK] }),
  "tools/call": ({ arguments: given }) => ({ content: [{ type: "text", text: JSON.stringify(given) }] }),
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = Object.hasOwn(answers, method) ? answers[method](params) : {};
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
}
