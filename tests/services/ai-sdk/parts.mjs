// Writes a TypeScript file in which each standard chunk of these files must be a `TextStreamPart`: of the first, which has
// one of each kind, and of the second, a stream as `curl` wrote it. What is ours is left out.
import { readFileSync, writeFileSync } from 'node:fs';

const [each, stream, written] = process.argv.slice(2);
const lines = readFileSync(stream, 'utf8').split('\n').filter((line) => line.startsWith('data: '));
const chunks = [...JSON.parse(readFileSync(each, 'utf8')), ...lines.map((line) => JSON.parse(line.slice(6)))];
const ours = ['agent-state', 'user-query', 'user-answer', 'result'];
const standard = chunks.filter((chunk) => !ours.includes(chunk.type));
// JSON has no dates: whoever reads it revives them.
const literal = (chunk) => JSON.stringify(chunk).replace(/"timestamp":("[^"]*")/g, '"timestamp":new Date($1)');
// A generic parameter takes fields beyond those of the type, as objects at run time do.
writeFileSync(written, `import type { TextStreamPart } from 'ai';
const part = <T extends TextStreamPart<any>>(part: T) => part;
${standard.map((chunk) => `part(${literal(chunk)});`).join('\n')}
`);
const kinds = new Set(standard.map((chunk) => chunk.type));
if (kinds.size < 8) throw new Error(`only ${[...kinds]}`);
console.log(`${standard.length} parts of ${kinds.size} kinds`);
