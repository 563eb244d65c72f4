import { replaceDocument, renderManifest, readManifests, removeDocument } from './manifest-file.js';

const two = `# our numbers
apiVersion: gwk.dev/v1
kind: Instance
metadata:
  name: shop # the first
spec:
  # who pays
  account: main
  kind: sandbox
---
apiVersion: gwk.dev/v1
kind: Instance
metadata: { name: help, namespace: support }
spec: { account: main }
`;

const shop = (spec: object, metadata: object = {}) => ({
  apiVersion: 'gwk.dev/v1',
  kind: 'Instance',
  metadata: { name: 'shop', ...metadata },
  spec,
});

test('reads all documents of a file', () => {
  expect(readManifests(two).map(({ metadata, index }) => [metadata.namespace, metadata.name, index])).toEqual(
    [
      ['default', 'shop', 0],
      ['support', 'help', 1],
    ],
  );
});

test('reads JSON', () => {
  expect(readManifests(renderManifest('x.json', shop({ account: 'main' })))[0]).toMatchObject({
    metadata: { name: 'shop' },
    spec: { account: 'main' },
  });
});

test.each([
  ['an empty file', '', 'it is empty'],
  ['a file of comments', '# soon\n---\n', 'it is empty'],
  ['a file with invalid YAML', 'a: [', 'Flow sequence'],
  ['another kind of resource', 'apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n', 'kind'],
  [
    'a misspelt field',
    'apiVersion: gwk.dev/v1\nkind: Instance\nmetadata: {name: x}\nspec: {account: main, knd: web}\n',
    'spec.knd: unknown field',
  ],
  [
    'an invalid name',
    'apiVersion: gwk.dev/v1\nkind: Instance\nmetadata: {name: Big_Name}\nspec: {account: main}\n',
    'metadata.name',
  ],
  ['a list at the top', '- 1\n', 'expected object'],
])('%s is not used', (_, text, fault) => {
  expect(() => readManifests(text)).toThrow(fault);
});

test('keeps comments, order and other documents on a change', () => {
  const text = replaceDocument(
    'x.yaml',
    two,
    0,
    shop({ account: 'main', kind: 'sandbox', displayName: 'Loja' }, { labels: { a: 'b' } }),
  );
  expect(text).toBe(`# our numbers
apiVersion: gwk.dev/v1
kind: Instance
metadata:
  name: shop # the first
  labels:
    a: b
spec:
  # who pays
  account: main
  kind: sandbox
  displayName: Loja
---
apiVersion: gwk.dev/v1
kind: Instance
metadata: { name: help, namespace: support }
spec: { account: main }
`);
});

test('removes a missing field', () => {
  const text = replaceDocument('x.yaml', two, 0, shop({ account: 'main' }));
  expect(text).not.toContain('sandbox');
  expect(text).toContain('# who pays');
});

test('removes one document and keeps the others', () => {
  const left = removeDocument('x.yaml', two, 0)!;
  expect(readManifests(left).map(({ metadata }) => metadata.name)).toEqual(['help']);
  expect(removeDocument('x.yaml', left, 0)).toBeNull();
});
