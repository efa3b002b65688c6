// A consumer of the AI SDK's `fullStream`, as an application has one: it knows nothing of Entourage. The server's chunks,
// read with JSON.parse, are parts for it.
import type { TextStreamPart, ToolSet } from 'ai';
import { readFileSync } from 'node:fs';

async function consume(parts: AsyncIterable<TextStreamPart<ToolSet>>) {
  const seen = { texts: [] as string[], calls: [] as string[], tokens: 0, reason: '' };
  let text = '';
  for await (const part of parts) {
    switch (part.type) {
      case 'step-start': text = ''; break;
      case 'text-delta': text += part.textDelta; break;
      case 'tool-call': seen.calls.push(part.toolName); break;
      case 'step-finish': seen.texts.push(text); seen.tokens += part.usage.totalTokens; break;
      case 'error': throw new Error(String(part.error));
      case 'finish': seen.reason = part.finishReason; break;
    }
  }
  return seen;
}

// Lines of a stream of server-sent events, as `curl` wrote them.
const lines = readFileSync(process.argv[2]!, 'utf8').split('\n').filter((line) => line.startsWith('data: '));
const chunks = lines.map((line) => JSON.parse(line.slice('data: '.length)));
async function* stream() { yield* chunks as TextStreamPart<ToolSet>[]; }
const seen = await consume(stream());
const result = chunks.find((chunk) => chunk.type === 'result');
if (seen.reason !== 'stop' || seen.texts.at(-1) !== result.result || seen.calls.length === 0) {
  throw new Error(`not what the stream says: ${JSON.stringify({ seen, result })}`);
}
console.log(`${chunks.length} chunks, ${seen.texts.length} answers, calls: ${seen.calls.join(', ')}`);
