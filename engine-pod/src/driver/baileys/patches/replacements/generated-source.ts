import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

/** One type (message or enumeration) of a file of generated code, and where it stands. */
export interface Section {
  name: string;
  /** In bytes: from its indentation to the end of its last line. */
  start: number;
  end: number;
  inner: Section[];
}

const OPENING = Buffer.from(' = (function() {\n');
const NEWLINE = 10;
const SPACE = 32;

/**
 * Generated code of protobufjs, which has one form throughout:
 *
 *     Outer.Inner = (function() {
 *         ...
 *     })();
 *
 * with its indentation telling where it ends. Only where each type stands is kept of it.
 */
export class GeneratedSource {
  readonly path: string;
  readonly sections: Section[];
  /** What stands before the first type. */
  readonly head: string;

  constructor(path: string) {
    const bytes = readFileSync(path);
    this.path = path;
    this.sections = findSections(bytes);
    this.head = bytes.toString('utf8', 0, this.sections[0]?.start ?? 0);
  }

  /** The code of a type, with what is put in place of the types within it. */
  readCode(section: Section, replaceInner: (inner: Section) => string): string {
    const bytes = this.#read(section);
    let code = '';
    let at = 0;
    for (const inner of section.inner) {
      code += bytes.toString('utf8', at, inner.start - section.start) + replaceInner(inner);
      at = inner.end - section.start;
    }
    return code + bytes.toString('utf8', at);
  }

  #read({ start, end }: Section): Buffer {
    const bytes = Buffer.alloc(end - start);
    const file = openSync(this.path, 'r');
    try {
      if (readSync(file, bytes, 0, bytes.length, start) !== bytes.length)
        throw new Error('the file has changed');
    } finally {
      closeSync(file);
    }
    return bytes;
  }
}

function findSections(bytes: Buffer): Section[] {
  const top: Section[] = [];
  const open: Section[] = [];
  for (let at = bytes.indexOf(OPENING); at !== -1; at = bytes.indexOf(OPENING, at + 1)) {
    const start = bytes.lastIndexOf(NEWLINE, at) + 1;
    const closing = `\n${' '.repeat(countIndentation(bytes, start))}})();\n`;
    const end = bytes.indexOf(closing, at) + closing.length;
    const name = bytes.toString('utf8', start, at).trim().split('.').at(-1)!;
    const section: Section = { name, start, end, inner: [] };
    while (open.length > 0 && open.at(-1)!.end <= start) open.pop();
    (open.at(-1)?.inner ?? top).push(section);
    open.push(section);
  }
  return top;
}

function countIndentation(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at] === SPACE) at += 1;
  return at - start;
}
