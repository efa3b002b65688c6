// A provider that speaks OpenAI's protocol and does what it is told:
//   ask WORDS | OPTION | OPTION    asks the person
//   note WORDS                     writes a note
//   book JSON                      calls the tool `book` of an MCP server with these arguments
//   spawn TASK ; TASK              starts an agent for each task
//   slow N                         streams N words
//   write WORDS                    streams these words slowly, each in pieces that begin with what joins signs
//   say WORDS                      answers with these words
//   fail                           refuses
// It tells nobody but itself what it was asked.
import http from "node:http";

const call = (name, args) => ({ name, arguments: JSON.stringify(args) });

function decide(messages) {
  const last = messages.findLast((message) => message.role !== "system" && message.role !== "developer");
  const text = typeof last.content === "string" ? last.content : (last.content ?? []).map((part) => part.text ?? "").join("");
  if (last.role === "tool") return { text: `It came back: ${text.slice(0, 200)}` };
  if (text.includes("<task_result")) return { text: "All of it is in." };
  const [word, ...rest] = text.split("\n\n").at(-1).trim().split(" ");
  const said = rest.join(" ");
  switch (word) {
    case "ask": {
      const [question, ...options] = said.split("|").map((part) => part.trim());
      return { text: "Something is missing.", calls: [call("ask_user", options.length ? { question, options } : { question })] };
    }
    case "note": return { calls: [call("create_note", { title: said.slice(0, 60), content: said })] };
    case "book": return { calls: [{ name: "rooms__book", arguments: said }] };
    case "spawn": return { calls: said.split(";").map((task) => call("spawn_agent", { kind: "general", task: task.trim() })) };
    case "slow": return { text: Array.from({ length: Number(rest[0]) }, (_, n) => `word${n} `).join(""), pause: 40 };
    case "write": return { text: said, pause: 400 };
    case "say": return { text: said };
    // The trigger of a feed.
    case "Write": return { calls: [call("send_message", { message: "**Nothing** has happened." })] };
    case "fail": return { status: 400 };
    default: return { text: `You said: ${text}` };
  }
}

export function provider() {
  const server = http.createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => { body += piece; });
    request.on("end", async () => {
      if (request.method === "GET") {
        response.setHeader("content-type", "application/json");
        return response.end(JSON.stringify({ object: "list", data: [{ id: "scripted", object: "model" }] }));
      }
      const asked = JSON.parse(body);
      const { text = "", calls = [], pause = 0, status } = decide(asked.messages);
      if (status) {
        response.writeHead(status, { "content-type": "application/json" });
        return response.end(JSON.stringify({ error: { message: "this is not done", type: "invalid_request_error" } }));
      }
      const usage = { prompt_tokens: 900, completion_tokens: 40, total_tokens: 940 };
      const tool_calls = calls.map((made, index) => ({ index, id: `call_${Date.now()}_${index}`, type: "function", function: made }));
      const finish = calls.length ? "tool_calls" : "stop";
      if (!asked.stream) {
        response.setHeader("content-type", "application/json");
        const message = { role: "assistant", content: text || null, ...(calls.length ? { tool_calls } : {}) };
        return response.end(JSON.stringify({ id: "x", object: "chat.completion", model: "scripted", choices: [{ index: 0, message, finish_reason: finish }], usage }));
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      const send = (delta, finish_reason = null, more = {}) =>
        response.write(`data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", model: "scripted", choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`);
      for (const word of text.split(/(?<= )|(?=\u200d)/)) {
        if (word) send({ content: word });
        if (pause) await new Promise((done) => setTimeout(done, pause));
      }
      if (tool_calls.length) send({ tool_calls });
      send({}, finish);
      response.write(`data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", model: "scripted", choices: [], usage })}\n\n`);
      response.end("data: [DONE]\n\n");
    });
  });
  return new Promise((ready) => server.listen(0, "127.0.0.1", () => ready({
    url: `http://127.0.0.1:${server.address().port}/v1`,
    close: () => { server.closeAllConnections(); server.close(); },
  })));
}
