/** Plain JavaScript without declarations. */
const [LINKS, NAVIGATION, SCHEMA, SAMPLES]: string[] = ['links', 'navigation', 'schema', 'samples'].map(
  (name) => `../../site/${name}.js`,
);
const { findPlace, moveLinks } = (await import(LINKS!)) as {
  findPlace: (path: string) => string | null;
  moveLinks: (text: string, path: string) => string;
};
const { readGroups } = (await import(NAVIGATION!)) as { readGroups: (readme: string) => unknown };
const { listFields } = (await import(SCHEMA!)) as {
  listFields: (document: object, schema: object) => unknown;
};
const { writeSamples } = (await import(SAMPLES!)) as {
  writeSamples: (request: object) => Record<'curl' | 'javascript' | 'python', string>;
};

const MAIN = 'https://github.com/gwk-dev/gwk/blob/main';

test.each([
  ['docs/install.md', 'install.md'],
  ['docs/runbooks/README.md', 'runbooks/index.md'],
  ['docs/decisions/', 'decisions/index.md'],
  ['docs/pictures/message.png', 'pictures/message.png'],
  ['site/index.md', 'index.md'],
  ['README.md', null],
  ['charts/gwk/values.yaml', null],
])('%s is %s on the site', (path, place) => {
  expect(findPlace(path)).toBe(place);
});

test.each([
  ['docs/install.md', '[a](images.md#build)', '[a](./images.md#build)'],
  ['docs/install.md', '[a](../NOTICE)', `[a](${MAIN}/NOTICE)`],
  ['docs/install.md', '[a](decisions/)', '[a](./decisions/index.md)'],
  ['docs/runbooks/GwkApiDown.md', '[a](../operate.md)', '[a](../operate.md)'],
  ['docs/runbooks/GwkApiDown.md', '[a](README.md)', '[a](./index.md)'],
  ['docs/runbooks/GwkApiDown.md', '![a](../pictures/a.png)', '![a](../pictures/a.png)'],
  ['site/index.md', '[a](../docs/install.md)', '[a](./install.md)'],
  ['docs/install.md', '[a](https://example.com) [b](#here)', '[a](https://example.com) [b](#here)'],
  ['docs/install.md', '`[a](../NOTICE)`', '`[a](../NOTICE)`'],
  ['docs/install.md', '```md\n[a](../NOTICE)\n```', '```md\n[a](../NOTICE)\n```'],
])('%s: %s becomes %s', (path, text, moved) => {
  expect(moveLinks(text, path)).toBe(moved);
});

test('the menu has the groups of README.md', () => {
  const readme =
    '# a\n\n## Documentation\n\n- Use it: [first](docs/first.md), [all](docs/runbooks/README.md)\n- Change it: [rules](CONTRIBUTING.md)\n\nEnd.\n';
  expect(readGroups(readme)).toEqual([
    {
      text: 'Use it',
      items: [
        { text: 'First', link: '/first' },
        { text: 'All', link: '/runbooks/' },
      ],
    },
    { text: 'Change it', items: [{ text: 'Rules', link: `${MAIN}/CONTRIBUTING.md` }] },
  ]);
});

test('the fields of a schema have their path, type and limits', () => {
  const document = {
    components: {
      schemas: {
        Item: { type: 'object', properties: { size: { type: 'integer', minimum: 1, maximum: 9 } } },
      },
    },
  };
  const schema = {
    type: 'object',
    required: ['kind'],
    properties: {
      kind: { enum: ['a', 'b'], type: 'string' },
      items: { anyOf: [{ type: 'array', items: { $ref: '#/components/schemas/Item' } }, { type: 'null' }] },
    },
  };
  expect(listFields(document, schema)).toEqual([
    { name: 'kind', type: 'string', isRequired: true, text: '`a`, `b`' },
    { name: 'items', type: 'list of object or null', isRequired: false, text: '' },
    { name: 'items[].size', type: 'integer', isRequired: false, text: '1 to 9' },
  ]);
});

test('samples read ids from the environment and escape what a shell would expand', () => {
  const id = `ins_${'0'.repeat(32)}`;
  const { curl, javascript, python } = writeSamples({
    operationId: 'editMessage',
    method: 'PATCH',
    path: '/v1/messages/{message_id}',
    tag: 'messages',
    body: { instance_id: id, text: 'costs $5, "it\'s" `fine`', silent: true, note: null },
  });
  expect(curl).toContain('curl -s -X PATCH "$GWK_ADDRESS/v1/messages/$MESSAGE_ID"');
  expect(curl).toContain('"instance_id": "$INSTANCE_ID"');
  expect(curl).toContain('"costs \\$5, \\\\"it\'s\\\\" \\`fine\\`"');
  expect(javascript).toContain('client.messages.edit(env.MESSAGE_ID, {');
  expect(javascript).toContain(`text: 'costs $5, "it\\'s" \`fine\`'`);
  expect(python).toContain('gwk.messages.edit(env["MESSAGE_ID"], {');
  expect(python).toContain('"silent": True,\n      "note": None,');
});
