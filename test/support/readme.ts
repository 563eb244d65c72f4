import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { baseEnvironment, ROOT, type Environment } from './program.js';

/** What is typed there is a reader's: whatever is answered with 503 is asked for again (bin/curl). */
export function readerEnvironment(): Environment {
  const env = baseEnvironment();
  return { ...env, PATH: `${join(ROOT, 'test/support/bin')}:${env['PATH']}` };
}

/** A step of the walk-through: what is typed, and the output shown beneath it (none where none is shown). */
export interface Step {
  command: string;
  output: string | null;
}

/**
 * The steps of one section of README.md: each block marked `sh` is typed, and a block marked `json` or `text` that
 * follows it before the next one is its output.
 */
export function readSteps(section: string): Step[] {
  const text = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const from = text.indexOf(`\n## ${section}\n`);
  if (from === -1) throw new Error(`README.md has no section "${section}"`);
  const to = text.indexOf('\n## ', from + 1);
  return stepsIn(text.slice(from, to === -1 ? undefined : to));
}

/** The steps of a page of docs/. */
export function readPageSteps(name: string): Step[] {
  return stepsIn(readFileSync(join(ROOT, 'docs', name), 'utf8'));
}

/** The blocks of this kind on a page of docs/, as a reader sees them: those within lists without its indentation. */
export function readPageBlocks(name: string, kind: 'sh' | 'sql'): string[] {
  const text = readFileSync(join(ROOT, 'docs', name), 'utf8');
  return [...text.matchAll(/^( *)```(\w+)\n([\s\S]*?)^ *```$/gm)]
    .filter(([, , marked]) => marked === kind)
    .map(([, indent, , content]) => content!.replace(new RegExp(`^${indent}`, 'gm'), ''));
}

/** The only block of commands on a page of docs/ that has this in it. @throws where there is none, or another */
export function readPageCommands(name: string, text: string): string {
  const [block, ...others] = readPageBlocks(name, 'sh').filter((one) => one.includes(text));
  if (block === undefined || others.length > 0) throw new Error(`not one place with ${text} in ${name}`);
  return block;
}

function stepsIn(text: string): Step[] {
  const steps: Step[] = [];
  for (const [, kind, content] of text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)) {
    if (kind === 'sh') steps.push({ command: content!.trim(), output: null });
    else if ((kind === 'json' || kind === 'text') && steps.length > 0) steps.at(-1)!.output = content!.trim();
  }
  return steps;
}

/**
 * A value reduced to what does not change from run to run: ids to their prefix, times and numbers to a word, and
 * everything else as it is.
 */
export function normalizeShape(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalizeShape);
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, normalizeShape(item)]));
  }
  if (typeof value === 'number') return 'number';
  return typeof value === 'string' ? shapeOfText(value) : value;
}

function shapeOfText(text: string): string {
  return text
    .replace(/\b(ins|msg|evt|whe|whd)_[0-9a-f]{32}\b/g, '$1_...')
    .replace(/^ins-[0-9a-f]{32}-[0-9a-f]+$/, 'pod')
    .replace(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'uuid')
    .replace(/^[A-Za-z0-9_-]{51}$/, 'cursor')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'time')
    .replace(/whsec_[A-Za-z0-9+/=]+/g, 'whsec_...')
    .replace(/5500\d{9}@/g, '5500...@')
    .replace(/^[0-9A-F]{16,40}$/, 'network id')
    .replace(/\b\d{4,5}\b/g, 'number');
}
