import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/program.js';
import { isInRepository } from './repository-files.js';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const page = read('CONTRIBUTING.md');

/** A list of files for one kind of change. Each of the files contains one of the examples. */
interface Guide {
  title: string;
  examples: string[];
  files: string[];
}

/** A guide begins with a line "Example: `x`, `y`". Its table names a file in the first cell of each row. */
function readGuides(): Guide[] {
  return page.split(/^#{2,3} /m).flatMap((section) => {
    const title = section.slice(0, section.indexOf('\n'));
    const parts = section.split(/^(?=Example\b)/m).slice(1);
    return parts.map((part) => {
      const examples = codeIn(part.slice(0, part.indexOf('\n')));
      return { title, examples, files: [...part.matchAll(/^\| `([^`]+)`/gm)].map(([, file]) => file!) };
    });
  });
}

const codeIn = (text: string): string[] => [...text.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!);

/** Code that is a path of this repository, and not a command or an identifier. */
const isPath = (code: string): boolean =>
  code !== '.' && /^[\w./-]+$/.test(code) && isInRepository(code.split('/')[0]!);
/** Paths in code and in the commands of blocks. */
const pathsIn = (text: string): string[] => {
  const blocks = [...text.matchAll(/^```\w*\n([^]*?)^```/gm)].map(([, block]) => block!);
  return [...codeIn(text), ...blocks].flatMap((code) => code.split(/\s+/)).filter(isPath);
};
const links = [...page.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link]) => link!);

test('names only files and folders that exist', () => {
  const paths = [...pathsIn(page), ...links];
  expect(paths.length).toBeGreaterThan(60);
  expect(paths.filter((path) => !isInRepository(path))).toEqual([]);
});

test.each(['test/README.md', 'jest.config.js'])('commands in %s name only paths that exist', (file) => {
  const paths = pathsIn(read(file));
  expect(paths.length).toBeGreaterThan(0);
  expect(paths.filter((path) => !isInRepository(path))).toEqual([]);
});

const guides = readGuides();

test('has a guide for each kind of change', () => {
  expect([...new Set(guides.map(({ title }) => title))]).toEqual([
    'A message type',
    'A message type with a file',
    'An event',
    'A setting',
    'A field of a message',
    'A metric',
    'A rule of webhook delivery',
  ]);
});

test.each(guides)('$title: each file contains $examples', ({ examples, files }) => {
  expect(files.length).toBeGreaterThan(2);
  const isNamed = (text: string) =>
    examples.some((example) => text.toLowerCase().includes(example.toLowerCase()));
  expect(files.filter((file) => !isNamed(read(file)))).toEqual([]);
});

test('names only identifiers that the file of the row contains', () => {
  const rows = [...page.matchAll(/^\| `([^`]+)` *\|(.*)\|$/gm)].filter(([, file]) => isPath(file!));
  const missing = rows.flatMap(([, file, change]) => {
    const names = codeIn(change!).filter((code) => /^[A-Za-z_]+$/.test(code));
    return names.filter((name) => !read(file!).includes(name)).map((name) => `${file}: ${name}`);
  });
  expect(missing).toEqual([]);
});

/** Sources that use the word of an example in another meaning. */
const OTHER_MEANINGS: Record<string, RegExp> = {
  location: /address-guard|client-version\/source|\/(fetcher|disconnects|network-route|call|details)\.ts$/,
  // A simulated contact plays a message.
  played: /\/sandbox\/driver\.ts$/,
};
const SOURCES = ['core', 'api', 'decoder', 'operator', 'engine-pod', 'local', 'cli'].map(
  (name) => `${name}/src`,
);

const withoutComments = (code: string): string => code.replace(/\/\*[^]*?\*\/|^\s*(\/\/|--).*$/gm, '');

function sourcesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((name) => /(?<!\.test)\.(ts|sql)$/.test(name) && !name.includes('/generated/'));
}

test('a field that an outcome sets touches at most six files', () => {
  expect(guides.find(({ title }) => title === 'A field of a message')!.files.length).toBeLessThanOrEqual(6);
});

test.each(
  guides.filter(({ title }) =>
    /^(A message type|An event|A setting|A field of a message|A metric)$/.test(title),
  ),
)('$title: no other source contains the example', ({ examples: [example], files }) => {
  const word = new RegExp(`\\b${example!.replaceAll('.', '\\.')}\\b`);
  const others = SOURCES.flatMap(sourcesIn)
    .filter((file) => !files.includes(file) && !OTHER_MEANINGS[example!]?.test(file))
    .filter((file) => word.test(withoutComments(read(file))));
  expect(others).toEqual([]);
});
