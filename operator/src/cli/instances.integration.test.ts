import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { resource, NOW, at } from '@gwk/test/support/operator/build';
import { temporaryFolder } from '@gwk/test/support/operator/folder';
import { connectTo, LocalStage, manifest } from '@gwk/test/support/operator/local-stage';
import { until } from '@gwk/test/support/wait';
import { apply, describeInstance, get, remove, type Terminal } from './instances/commands.js';
import { describe as describeText } from './instances/describe.js';
import { formatAge, table } from './instances/table.js';
import { findTarget } from './instances/target.js';

let folder: ReturnType<typeof temporaryFolder>;
let stage: LocalStage;
let printed: string[];
let terminal: Terminal;

beforeEach(async () => {
  folder = temporaryFolder();
  stage = await LocalStage.start(join(folder.path, 'instances'));
  printed = [];
  terminal = { state: stage.state, print: (text) => printed.push(...text.split('\n')), now: Date.now };
});

afterEach(async () => {
  await stage.stop();
  folder.remove();
});

const here = { namespace: 'default' };
const file = (name: string, text: string): string => {
  const path = join(folder.path, name);
  writeFileSync(path, text);
  return path;
};
const yaml = (name: string, spec = 'account: main') =>
  `apiVersion: gwk.dev/v1\nkind: Instance\nmetadata: {name: ${name}}\nspec: {${spec}}\n`;

describe('apply', () => {
  test('prints the result of each document', async () => {
    const path = file('m.yaml', `${yaml('a')}---\n${yaml('b')}`);
    await apply(terminal, { ...here, filename: path });
    file('m.yaml', `${yaml('a')}---\n${yaml('b', 'account: main, suspended: true')}---\n`);
    await apply(terminal, { ...here, filename: path });
    expect(printed).toEqual([
      'instance.gwk.dev/a created',
      'instance.gwk.dev/b created',
      'instance.gwk.dev/a unchanged',
      'instance.gwk.dev/b configured',
    ]);
  });

  test('accepts folders, JSON, and the output of get', async () => {
    const source = join(folder.path, 'source');
    mkdirSync(source);
    writeFileSync(join(source, 'a.json'), JSON.stringify(manifest('a')));
    writeFileSync(join(source, 'b.yml'), yaml('b'));
    writeFileSync(join(source, 'notes.txt'), 'not a manifest');
    await apply(terminal, { ...here, filename: source });
    printed = [];
    await get(terminal, undefined, { ...here, output: 'yaml' });
    const path = file('list.yaml', printed.join('\n'));
    printed = [];
    await apply(terminal, { ...here, filename: path });
    expect(printed).toEqual(['instance.gwk.dev/a unchanged', 'instance.gwk.dev/b unchanged']);
  });

  test.each([
    ['a missing file', 'nowhere.yaml', null, 'nowhere.yaml is not readable'],
    ['an empty file', 'x.yaml', '', 'no manifest found'],
    ['another kind', 'x.yaml', 'kind: Secret\nmetadata: {name: x}\n', '"Secret" is not of kind Instance'],
    ['no name', 'x.yaml', 'kind: Instance\n', 'metadata.name is missing'],
    ['bad YAML', 'x.yaml', 'a: [', 'x.yaml: '],
    ['a misspelt field', 'x.yaml', yaml('x', 'acount: main'), 'spec.acount: unknown field'],
  ])('%s', async (_, name, text, message) => {
    const path = text === null ? name : file(name, text);
    await expect(apply(terminal, { ...here, filename: path })).rejects.toThrow(message);
  });

  test('removes fields that the manifest no longer contains, and keeps those of others', async () => {
    const path = file('m.yaml', yaml('a', 'account: main, suspended: true'));
    await apply(terminal, { ...here, filename: path });
    await stage.change('a', { displayName: 'Theirs' });
    file('m.yaml', yaml('a'));
    await apply(terminal, { ...here, filename: path });
    expect((await stage.get('a')).spec).toMatchObject({ displayName: 'Theirs', suspended: false });
    file('m.yaml', yaml('a', 'account: main, displayName: Mine'));
    await apply(terminal, { ...here, filename: path });
    expect((await stage.get('a')).spec.displayName).toBe('Mine');
  });

  test('loses no change that the API makes at the same time', async () => {
    const path = file('m.yaml', yaml('a', 'account: main, suspended: true'));
    await stage.create('a');
    const change = (i: number) => stage.change('a', { displayName: `Shop ${i}` });
    await Promise.all([change(1), apply(terminal, { ...here, filename: path }), change(2)]);
    const { spec } = await stage.get('a');
    expect(spec.suspended).toBe(true);
    expect(spec.displayName).toMatch(/^Shop [12]$/);
  });
});

describe('get', () => {
  test('reports an empty list', async () => {
    await get(terminal, undefined, here);
    expect(printed).toEqual(['No instances in default.']);
  });

  test('prints a table, a wide table, all namespaces, and names', async () => {
    await stage.create('a', { account: 'main', kind: 'sandbox' });
    const path = file('m.yaml', yaml('b').replace('name: b', 'name: b, namespace: support'));
    await apply(terminal, { ...here, filename: path });
    printed = [];
    await get(terminal, undefined, here);
    expect(printed.map((line) => line.split(/ {3,}/))).toEqual([
      ['NAME', 'READY', 'REASON', 'STATE', 'KIND', 'AGE'],
      ['a', 'Unknown', 'Pending', '-', 'sandbox', expect.stringMatching(/^\d+s$/)],
    ]);
    printed = [];
    await get(terminal, undefined, { ...here, allNamespaces: true, output: 'wide' });
    expect(printed[0]!.split(/ {3,}/)).toEqual([
      'NAMESPACE',
      'NAME',
      'READY',
      'REASON',
      'STATE',
      'KIND',
      'AGE',
      'ACCOUNT',
      'ID',
      'ENGINE',
    ]);
    expect(printed[2]!.split(/ {3,}/).slice(0, 2)).toEqual(['support', 'b']);
    printed = [];
    await get(terminal, undefined, { ...here, output: 'name' });
    expect(printed).toEqual(['instance.gwk.dev/a']);
  });

  test('prints one instance as a document', async () => {
    await stage.create('a');
    await get(terminal, 'a', { ...here, output: 'json' });
    expect(JSON.parse(printed.join('\n'))).toMatchObject({ kind: 'Instance', metadata: { name: 'a' } });
    printed = [];
    await get(terminal, 'a', { ...here, output: 'yaml' });
    expect(parse(printed.join('\n'))).toMatchObject({ kind: 'Instance', metadata: { name: 'a' } });
  });

  test('reports an unknown name', async () => {
    await expect(get(terminal, 'nobody', here)).rejects.toThrow(
      'NotFound: instances.gwk.dev "nobody" not found',
    );
  });

  test('prints a line for every visible change with --watch', async () => {
    await stage.create('a');
    const following = get(terminal, undefined, { ...here, watch: true }).catch(() => undefined);
    await until(() => printed.length === 2, { what: 'the table is there' });
    await stage.change('a', {}, { x: 'y' });
    await stage.change('a', { displayName: 'not shown' });
    await stage.create('b', { account: 'main', kind: 'sandbox' });
    await until(() => printed.length === 3, { what: 'the new one is printed' });
    await stage.delete('b');
    await until(() => printed.at(-1)!.endsWith('(deleted)'), { what: 'the deletion is printed' });
    const names = printed.slice(2).map((line) => line.split(/ {3,}/)[0]);
    expect(names).toEqual(['b', 'b']);
    await stage.stop();
    await following;
    stage = await LocalStage.start(join(folder.path, 'instances'));
  });
});

test('waits for the deletion, unless --no-wait', async () => {
  await stage.create('a');
  await stage.setFinalizer('a', true);
  await remove(terminal, ['a'], { ...here, wait: false });
  const poll = jest.spyOn(terminal.state, 'get');
  const waiting = remove(terminal, ['a'], { ...here, wait: true });
  await until(() => poll.mock.results.length > 0, { what: 'it polls' });
  await poll.mock.results[0]!.value;
  await stage.setFinalizer('a', false);
  await waiting;
  expect(printed).toEqual(['instance.gwk.dev/a is being deleted', 'instance.gwk.dev/a deleted']);
  await expect(remove(terminal, ['a'], { ...here, wait: true })).rejects.toThrow('not found');
});

describe('describe', () => {
  test('prints conditions and events of the server', async () => {
    await stage.create('a');
    const { uid } = (await stage.get('a')).metadata;
    stage.cluster.recordEvent(
      { key: 'default/a', uid },
      { type: 'Normal', reason: 'EngineCreated', message: 'Started engine x' },
    );
    await describeInstance(terminal, 'a', here);
    expect(printed.join('\n')).toMatch(/Events:\n {2}AGE .*\n.*Normal {3}EngineCreated {3}Started engine x/);
  });

  test('prints all fields', () => {
    const one = {
      ...resource({ displayName: 'Loja', policy: { menu_ttl_hours: 2 } }, { labels: { team: 'a' } }),
      status: {
        id: 'ins_1',
        state: 'connected',
        since: at(NOW - 120_000),
        observedGeneration: 1,
        engine: { pod: 'ins-1-x', version: '0.1.0', startedAt: at(NOW - 150_000) },
        lastError: null,
        conditions: [
          {
            type: 'Ready' as const,
            status: 'True' as const,
            reason: 'Ready',
            message: 'Ready to send',
            observedGeneration: 1,
            lastTransitionTime: at(NOW - 119_000),
          },
        ],
      },
    };
    const events = [
      {
        type: 'Normal' as const,
        reason: 'Connected',
        message: 'up',
        count: 3,
        first: at(NOW - 500_000),
        last: at(NOW - 119_000),
      },
    ];
    expect(describeText(one, events, NOW)).toBe(`Name:              shop
Namespace:         default
Labels:            team=a
Created:           2026-03-01T11:00:00.000Z (60m ago)
Generation:        1, observed 1
Id:                ins_1
Account:           main
Display name:      Loja
Kind:              web
Interactive mode:  native+text
Policy:            {"menu_ttl_hours":2}
State:             connected since 2026-03-01T11:58:00.000Z
Engine:            ins-1-x
  Version:         0.1.0
  Started:         2026-03-01T11:57:30.000Z (2m ago)
Conditions:
  TYPE    STATUS   REASON   FOR    MESSAGE
  Ready   True     Ready    119s   Ready to send
Events:
  AGE                 TYPE     REASON      MESSAGE
  119s (x3 over 8m)   Normal   Connected   up`);
  });
});

test('makes columns as wide as their widest cell', () => {
  expect(
    table([
      ['A', 'B'],
      ['long', 'x'],
    ]),
  ).toBe('A      B\nlong   x');
});

test.each([
  [45, '45s'],
  [119, '119s'],
  [121, '2m'],
  [7199, '119m'],
  [7200, '2h'],
  [200_000, '2d'],
  [-5, '0s'],
])('formats %i seconds as %s', (seconds, text) => {
  expect(formatAge(at(NOW - seconds * 1000), NOW)).toBe(text);
});

describe('finding the gateway', () => {
  test('prefers settings', () => {
    const env = {
      GWK_CLUSTER_URL: 'http://x:1',
      GWK_CLUSTER_TOKEN: 't',
      GWK_OPERATOR_PORT: 'of another program',
    };
    expect(findTarget(env, folder.path)).toEqual({ url: 'http://x:1', token: 't' });
  });

  test("reads the operator's address file of a parent folder", () => {
    const state = join(folder.path, '.local', 'instances', '.state');
    const below = join(folder.path, 'some', 'where');
    mkdirSync(state, { recursive: true });
    mkdirSync(below, { recursive: true });
    writeFileSync(join(state, 'operator.json'), JSON.stringify({ url: 'http://127.0.0.1:9', token: 'abc' }));
    expect(findTarget({}, below)).toEqual({ url: 'http://127.0.0.1:9', token: 'abc' });
    expect(findTarget({ GWK_CLUSTER_URL: 'http://x:1' }, below)).toEqual({ url: 'http://x:1', token: 'abc' });
  });

  test('names an invalid setting', () => {
    expect(() => findTarget({ GWK_CLUSTER_URL: 'nonsense' }, folder.path)).toThrow('GWK_CLUSTER_URL');
  });

  test('reports an address without an answer', async () => {
    await expect(connectTo('http://127.0.0.1:1').list(null)).rejects.toThrow(
      'no answer from http://127.0.0.1:1',
    );
  });

  test('explains a wrong token', async () => {
    await expect(connectTo(stage.url, 'wrong').list(null)).rejects.toThrow('set GWK_CLUSTER_TOKEN');
  });
});
