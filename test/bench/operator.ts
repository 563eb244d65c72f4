import { amongMany } from './operator/many.js';
import { onNodes } from './operator/nodes.js';

/** make bench-operator: PART=many, PART=nodes (as root), or one after the other. */
const PARTS: Record<string, (say: (line: string) => void) => Promise<void>> = {
  many: amongMany,
  nodes: onNodes,
};

const chosen = process.env['PART'] ?? Object.keys(PARTS).join(',');
for (const name of chosen.split(',')) {
  const part = PARTS[name];
  if (!part) throw new Error(`unknown part ${name}; parts: ${Object.keys(PARTS).join(', ')}`);
  await part((line) => console.log(line));
}
