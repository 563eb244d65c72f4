import { amongMany } from './operator/many.js';
import { onNodes } from './operator/nodes.js';
import { observeMany } from './operator/observe.js';

/** make bench-operator: PART=observe, PART=many, PART=nodes (as root), or one after the other. */
const PARTS: Record<string, (say: (line: string) => void) => Promise<void>> = {
  observe: observeMany,
  many: amongMany,
  nodes: onNodes,
};

const chosen = process.env['PART'] ?? Object.keys(PARTS).join(',');
for (const name of chosen.split(',')) {
  const part = PARTS[name];
  if (!part) throw new Error(`unknown part ${name}; parts: ${Object.keys(PARTS).join(', ')}`);
  await part((line) => console.log(line));
}
