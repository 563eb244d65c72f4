import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';

/**
 * Baileys' protocol buffers, from the file in Baileys' package, with each type compiled on first use. protobufjs
 * generates every type, nested ones too, in one form:
 *
 *     Outer.Inner = (function() {
 *         ...
 *     })();
 */
const TYPE = /^( +)(\w+)\.(\w+) = \(function\(\) \{\n[\s\S]*?\n\1\}\)\(\);\n/gm;
const baileys = join(dirname(fileURLToPath(import.meta.resolve('@whiskeysockets/baileys'))), '..');
const path = join(baileys, 'WAProto/index.js');
/** Names that the code of every type refers to. */
const SCOPE = ['$protobuf', '$root', '$Reader', '$Writer', '$util', 'longToString', 'longToNumber'] as const;

type Scope = Record<(typeof SCOPE)[number], unknown> & { $root: { proto: object } };

let scope: Scope;

/** @param from position of the type in the file, which is ASCII */
function define(parent: object, name: string, from: number, to: number): void {
  const set = (value: unknown): void => {
    Object.defineProperty(parent, name, { value, writable: true, enumerable: true, configurable: true });
  };
  const get = (): unknown => {
    const value = compile(from, to);
    set(value);
    return value;
  };
  Object.defineProperty(parent, name, { get, set, enumerable: true, configurable: true });
}

function compile(from: number, to: number): unknown {
  const code = read(from, to);
  const start = code.indexOf('(');
  const body = code
    .slice(start)
    .replace(TYPE, (type: string, ...[, parent, name, at]: [string, string, string, number]) => {
      const innerFrom = from + start + at;
      return `$define(${parent}, "${name}", ${innerFrom}, ${innerFrom + type.length});\n`;
    });
  const make = compileFunction(`return ${body}`, ['$define', ...SCOPE], { filename: path }) as (
    ...values: unknown[]
  ) => unknown;
  return make(define, ...SCOPE.map((name) => scope[name]));
}

function read(from: number, to: number): string {
  const bytes = Buffer.alloc(to - from);
  const file = openSync(path, 'r');
  try {
    if (readSync(file, bytes, 0, bytes.length, from) !== bytes.length)
      throw new Error('the file has changed');
    return bytes.toString('latin1');
  } finally {
    closeSync(file);
  }
}

function load(): Scope {
  const source = readFileSync(path, 'latin1');
  const head = source.slice(
    source.indexOf('\n', source.indexOf('import ')),
    source.indexOf('export const proto'),
  );
  const make = compileFunction(`${head}\nreturn { ${SCOPE.join()} };`, ['$protobuf'], { filename: path }) as (
    protobuf: object,
  ) => Scope;
  const protobuf = createRequire(join(baileys, 'package.json'))('protobufjs/minimal.js') as object;
  // Separate roots, because the original would otherwise replace these types when both are loaded.
  scope = make({ ...protobuf, roots: {} });
  const proto = (scope.$root.proto = {});
  for (const { 0: type, 3: name, index } of source.matchAll(TYPE))
    define(proto, name!, index, index + type.length);
  return scope;
}

const { $root } = load();
export const { proto } = $root;
export { $root as default };
