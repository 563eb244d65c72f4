import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from '../support/program.js';

const PROGRAMS = ['core', 'api', 'decoder', 'operator', 'engine-pod', 'local', 'cli'];

/** A field of a class, or a constant of a module, that begins empty. */
const FIELD =
  /^ {2}(?:(?:readonly|private|protected|static) )*(#?\w+)(?:: [^=]+)? = (?:new (?:Map|Set)(?:<.*>)?\(\)|\[\]);$/;
const CONSTANT =
  /^(?:export )?(?:const|let) (\w+)(?:: (?!readonly |Readonly)[^=]+)? = (?:new (?:Map|Set)(?:<.*>)?\(\)|\[\]);$/;

/** A variable of a function that begins empty. */
const VARIABLE = /^ +(?:const|let) \w+(?:: [^=]+)? = (?:new (?:Map|Set)(?:<.*>)?\(\)|\[\]);$/m;

function findCollections(): string[] {
  const files = PROGRAMS.flatMap((program) =>
    readdirSync(join(ROOT, program, 'src'), { recursive: true, encoding: 'utf8' })
      .map((name) => `${program}/src/${name}`)
      .filter((name) => /(?<!\.test)\.ts$/.test(name) && !name.includes('/generated/')),
  );
  return files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const names = text.split('\n').map((line) => (FIELD.exec(line) ?? CONSTANT.exec(line))?.[1]);
    const captured = VARIABLE.test(text) ? findCaptured(text) : [];
    const unique = new Set([...names, ...captured].filter((name) => name !== undefined));
    return [...unique].map((name) => `${file} ${name}`);
  });
}

const GROWING = new Set(['set', 'add', 'push', 'unshift']);
/** Methods that call their argument at once. */
const AT_ONCE = new Set([
  'map',
  'flatMap',
  'forEach',
  'filter',
  'some',
  'find',
  'sort',
  'reduce',
  'replace',
  'from',
]);

/** Variables of functions that a function within adds to, which may live longer than the call. */
function findCaptured(text: string): string[] {
  const source = ts.createSourceFile('a.ts', text, ts.ScriptTarget.Latest, true);
  const all = (node: ts.Node): ts.Node[] => [node, ...node.getChildren().flatMap(all)];
  return all(source)
    .filter((node) => ts.isVariableDeclaration(node) && VARIABLE.test(` const ${node.getText()};`))
    .flatMap((node) => {
      const { name } = node as ts.VariableDeclaration;
      const owner = findFunction(node);
      if (!owner) return [];
      const isCaptured = all(owner).some(
        (use) => use !== name && use.getText() === name.getText() && isGrowing(use) && isLater(use, owner),
      );
      return isCaptured ? [name.getText()] : [];
    });
}

function findFunction({ parent }: ts.Node): ts.Node | null {
  for (let node = parent as ts.Node | undefined; node; node = node.parent) {
    if (ts.isFunctionLike(node)) return node;
  }
  return null;
}

function isGrowing(use: ts.Node): boolean {
  const { parent } = use;
  if (ts.isPropertyAccessExpression(parent))
    return parent.expression === use && GROWING.has(parent.name.text);
  return (
    ts.isBinaryExpression(parent) &&
    parent.left === use &&
    parent.operatorToken.kind === ts.SyntaxKind.EqualsToken
  );
}

/** Whether a function between the use and the owner of the variable may run after the owner. */
function isLater(use: ts.Node, owner: ts.Node): boolean {
  for (let node = findFunction(use); node && node !== owner; node = findFunction(node)) {
    const { parent } = node;
    const called = ts.isCallExpression(parent) ? parent.expression : null;
    if (!(called && ts.isPropertyAccessExpression(called) && AT_ONCE.has(called.name.text))) return true;
  }
  return false;
}

/** Rows of docs/memory.md begin with a file and its collections. */
function listCollections(): string[] {
  const page = readFileSync(join(ROOT, 'docs/memory.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `([^`]+)` *\|([^|]+)\|[^|]+\|([^|]+)\|$/gm)];
  return rows.flatMap(([, file, names, bound]) => {
    expect(bound!.trim()).not.toBe('');
    return [...names!.matchAll(/`([^`]+)`/g)].map(([, name]) => `${file} ${name}`);
  });
}

test('docs/memory.md lists every collection that can grow, with its bound', () => {
  const found = findCollections();
  expect(found.length).toBeGreaterThan(50);
  expect(listCollections().sort()).toEqual(found.sort());
});

test.each([
  [
    'a listener adds to it',
    "() => { const open = new Set<Socket>(); server.on('x', (s) => open.add(s)); }",
    ['open'],
  ],
  [
    'a method replaces it',
    '() => { let seen = new Map<string, A>(); return { read() { seen = new Map(); } }; }',
    ['seen'],
  ],
  [
    'only the call itself adds to it',
    '() => { const all: A[] = []; xs.forEach((x) => all.push(x)); return all; }',
    [],
  ],
])('finds a variable of a function if %s', (_, text, names) => expect(findCaptured(text)).toEqual(names));
