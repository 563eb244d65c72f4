/** Plain JavaScript without declarations. */
const RULES: string = './prose/rules.js';
const TEXT: string = './prose/text.js';

interface Finding {
  line: number;
  rule: string;
}

const { averageWords, judgeNames, judgeTexts } = (await import(RULES)) as {
  averageWords: (texts: unknown) => number;
  judgeNames: (path: string, names: unknown) => Finding[];
  judgeTexts: (path: string, texts: unknown) => Finding[];
};
const { readProse, splitSentences } = (await import(TEXT)) as {
  readProse: (path: string, source: string) => { texts: unknown; names: unknown };
  splitSentences: (text: string) => string[];
};

const judge = (path: string, source: string): string[] => {
  const { texts, names } = readProse(path, source);
  return [...judgeTexts(path, texts), ...judgeNames(path, names)].map(({ line, rule }) => `${line}: ${rule}`);
};

test.each([
  ['a comment whose subject is What', 'a.ts', '// What fails is retried.', '1: name the actor first'],
  ['a comment whose subject is Of', 'a.ts', '/** Of two, the first. */', '1: name the actor first'],
  [
    'a page whose sentence begins with Whoever',
    'a.md',
    'Fine.\n\nWhoever asks gets it.',
    '3: name the actor first',
  ],
  ['SQL', 'a.sql', 'SELECT 1;\n-- What is due.', '2: name the actor first'],
  ['a private word in a comment', 'a.ts', '// Rings the bell.', '1: "bell": write notify, notification'],
  [
    'a private word in a message',
    'a.ts',
    "log('no room for it');",
    '1: "room": write headroom, capacity, connection budget',
  ],
  ['a private word in a name', 'a.ts', 'const waitRung = 1;', '1: name with "Rung"'],
  ['a private word in a chart', 'a.yaml', '# Waits for the desk.\na: 1', '1: "desk": write pairing request'],
  ['a comment that begins with It', 'a.ts', '// It has a result.', '1: name the subject of the comment'],
  ['a comment that begins with Also', 'a.sql', '-- Also if it failed.', '1: name the subject of the comment'],
  [
    'a comment that begins with The same',
    'a.yaml',
    'a: 1\n# The same\n# for pods.\nb: 2',
    '2: name the subject of the comment',
  ],
  [
    'a citation of a page that is not in the repository',
    'a.ts',
    '// Sent once (design: sends).',
    '1: link into the repository instead',
  ],
])('reports %s', (_, path, source, expected) => {
  expect(judge(path, source)).toContain(expected);
});

test.each([
  ['a question as a heading', 'a.md', '## What is an engine?'],
  ['code in backticks and blocks', 'a.md', 'Run `bell`.\n\n```sh\nring bell\n```'],
  ['signing a request', 'a.ts', '// The worker signs the request with HMAC.'],
  ['a comment with It in a later sentence', 'a.ts', '// Reads a row. It may be stale.'],
  ['plain comments and names', 'a.ts', '/** Retries failed deliveries. */\nconst notifiedAt = 1;'],
])('accepts %s', (_, path, source) => {
  expect(judge(path, source)).toEqual([]);
});

test('splits sentences at their ends, not at dots in names', () => {
  expect(splitSentences('See `a.b`. Node.js runs it (v24). Done!')).toEqual([
    'See code.',
    'Node.js runs it (v24).',
    'Done!',
  ]);
});

test('averages the words of paragraphs and list items, without tables and headings', () => {
  const page =
    '# A heading of five words\n\nTwo words.\n\n- Four words are here.\n\n| a long table cell with words |\n';
  expect(averageWords(readProse('a.md', page).texts)).toBe(3);
});
