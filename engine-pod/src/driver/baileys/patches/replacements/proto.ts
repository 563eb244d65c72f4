import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';
import { GeneratedSource, type Section } from './generated-source.js';

/**
 * Baileys' protocol buffers, from the file in Baileys' package, with each type compiled on first use. Compiling all
 * of them at once costs 11 MB.
 */
const baileys = join(dirname(fileURLToPath(import.meta.resolve('@whiskeysockets/baileys'))), '..');
const source = new GeneratedSource(join(baileys, 'WAProto/index.js'));

type Define = (parent: object, name: string, place: number) => void;

/** Names that the code of every type refers to. */
interface Scope {
  $protobuf: object;
  $root: { proto: object };
  $Reader: unknown;
  $Writer: unknown;
  $util: unknown;
  longToString: unknown;
  longToNumber: unknown;
}

type CompiledFunction<Arguments extends unknown[], Result> = (...values: Arguments) => Result;

const IMPORT = /^import .*$/m;
const BEGIN = /^export const proto = [\s\S]*$/m;
const NAMES = ['$protobuf', '$root', '$Reader', '$Writer', '$util', 'longToString', 'longToNumber'] as const;

const makeScope = compileFunction(
  `${source.head.replace(IMPORT, '').replace(BEGIN, '')}\nreturn { ${NAMES.join()} };`,
  ['$protobuf'],
  { filename: source.path },
) as CompiledFunction<[object], Scope>;
const protobuf = createRequire(join(baileys, 'package.json'))('protobufjs/minimal.js') as object;
// Separate roots, because the original would otherwise replace these types when both are loaded.
const scope = makeScope({ ...protobuf, roots: {} });

/** Nested types by index; compiled code refers to the index. */
const nestedSections: Section[] = [];

const define: Define = (parent, name, place) => defineLazily(parent, { ...nestedSections[place]!, name });

function defineLazily(parent: object, section: Section): void {
  const set = (value: unknown): void => {
    Object.defineProperty(parent, section.name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  };
  Object.defineProperty(parent, section.name, {
    get: () => {
      const value = compile(section);
      set(value);
      return value;
    },
    set,
    enumerable: true,
    configurable: true,
  });
}

function compile(section: Section): unknown {
  const code = source.readCode(section, (inner) => {
    nestedSections.push(inner);
    return `$define(${section.name}, "${inner.name}", ${nestedSections.length - 1});\n`;
  });
  const body = `return ${code.slice(code.indexOf('=') + 1)}`;
  const make = compileFunction(body, ['$define', ...NAMES], { filename: source.path });
  return (make as CompiledFunction<unknown[], unknown>)(define, ...NAMES.map((name) => scope[name]));
}

const { $root } = scope;
export const proto = ($root.proto = {});
for (const section of source.sections) defineLazily(proto, section);

export { $root as default };
