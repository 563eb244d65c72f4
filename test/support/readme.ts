import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { baseEnvironment, ROOT, type Environment } from './program.js';

/** Environment of a reader's shell. bin/curl in it repeats calls after a 503. */
export function readerEnvironment(): Environment {
  const env = baseEnvironment();
  return { ...env, PATH: `${join(ROOT, 'test/support/bin')}:${env['PATH']}` };
}

/** A step of the walkthrough: the command and the output shown below it, if any. */
export interface Step {
  command: string;
  output: string | null;
}

/**
 * Steps of one section of README.md. Each `sh` block is a command. A `json` or `text` block before the next one is its
 * output.
 */
export function readSteps(section: string): Step[] {
  const text = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const from = text.indexOf(`\n## ${section}\n`);
  if (from === -1) throw new Error(`README.md has no section "${section}"`);
  const to = text.indexOf('\n## ', from + 1);
  return stepsIn(text.slice(from, to === -1 ? undefined : to));
}

/** Steps of a page of docs/. */
export function readPageSteps(name: string): Step[] {
  return stepsIn(readFileSync(join(ROOT, 'docs', name), 'utf8'));
}

/** Blocks of this language on a page of docs/, without list indentation. */
export function readPageBlocks(
  name: string,
  kind: 'sh' | 'sql' | 'yaml' | 'js' | 'ts' | 'go' | 'php' | 'python',
): string[] {
  const text = readFileSync(join(ROOT, 'docs', name), 'utf8');
  return [...text.matchAll(/^( *)```(\w+)\n([\s\S]*?)^ *```$/gm)]
    .filter(([, , marked]) => marked === kind)
    .map(([, indent, , content]) => content!.replace(new RegExp(`^${indent}`, 'gm'), ''));
}

/**
 * The only command block on a page of docs/ that contains this text.
 * @throws Error if none or several match
 */
export function readPageCommands(name: string, text: string): string {
  const [block, ...others] = readPageBlocks(name, 'sh').filter((one) => one.includes(text));
  if (block === undefined || others.length > 0)
    throw new Error(`${name} must have exactly one block with ${text}`);
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

/** Reduces a value to what is stable between runs: ids to their prefix, times and numbers to a word. */
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
    .replace(/\b(ins|msg|cnv|evt|whe|whd)_[0-9a-f]{32}\b/g, '$1_...')
    .replace(/^ins-[0-9a-f]{32}-[0-9a-f]+$/, 'pod')
    .replace(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'uuid')
    .replace(/^[A-Za-z0-9_-]{134}$/, 'cursor')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'time')
    .replace(/whsec_[A-Za-z0-9+/=]+/g, 'whsec_...')
    .replace(/5500\d{9}@/g, '5500...@')
    .replace(/^[0-9A-F]{16,40}$/, 'network id')
    .replace(/\b\d{4,5}\b/g, 'number');
}
