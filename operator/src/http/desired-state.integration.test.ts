import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  DesiredStateUnavailable,
  ResourceConflict,
  ResourceInvalid,
} from '@gwk/core/desired-state/desired-state';
import type { InstanceResource, InstanceSpec } from '@gwk/core/resources/manifest';
import { PAIRING_ANNOTATION } from '@gwk/core/resources/pairing-request';
import { temporaryFolder } from '@gwk/test/support/operator/folder';
import { connectTo, LocalStage, TOKEN } from '@gwk/test/support/operator/local-stage';

let folder: ReturnType<typeof temporaryFolder>;
let stage: LocalStage;

beforeEach(async () => {
  folder = temporaryFolder();
  stage = await LocalStage.start(folder.path);
});

afterEach(async () => {
  await stage.stop();
  folder.remove();
});

const path = () => join(folder.path, 'instances.json');
const read = (): string => readFileSync(path(), 'utf8');

describe('create', () => {
  test('creates a resource with defaults and uid, in a file that only its owner can read', async () => {
    const resource = await stage.create('shop', { account: 'main' }, { labels: { team: 'a' } });
    expect(resource).toMatchObject({
      apiVersion: 'gwk.dev/v1',
      kind: 'Instance',
      metadata: { name: 'shop', namespace: 'default', generation: 1, labels: { team: 'a' } },
      spec: { account: 'main', kind: 'web', interactiveMode: 'native+text', suspended: false },
    });
    expect(resource.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(resource.metadata.resourceVersion).toMatch(/^\d+$/);
    expect(JSON.parse(read())).toEqual({ instances: [resource], pods: [] });
    expect(statSync(path()).mode & 0o777).toBe(0o600);
    expect(stage.changed).toContain('default/shop');
  });

  test('rejects an existing name', async () => {
    await stage.create('shop');
    await expect(stage.create('shop')).rejects.toBeInstanceOf(ResourceConflict);
  });

  test('separates equal names of different namespaces', async () => {
    await stage.create('shop');
    await stage.create('shop', { account: 'other' }, { namespace: 'support' });
    const there = await stage.state.get({ namespace: 'support', name: 'shop' });
    expect(there!.spec.account).toBe('other');
    expect((await stage.get('shop')).spec.account).toBe('main');
    const names = async (namespace: string | null) =>
      (await stage.state.list(namespace)).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    expect(await names('default')).toEqual(['default/shop']);
    expect(await names(null)).toEqual(['default/shop', 'support/shop']);
  });
});

test('removes a pairing request, unless another one has replaced it', async () => {
  const requests = ['first', 'second'].map((id) => {
    const until = new Date().toISOString();
    return { id, method: 'code', phone: '5511999990000', until } as const;
  });
  const annotations = { [PAIRING_ANNOTATION]: JSON.stringify(requests[1]), team: 'a' };
  const { metadata } = await stage.create('shop', { account: 'main' }, { annotations });
  const target = { key: 'default/shop', uid: metadata.uid };
  await stage.cluster.removePairingRequest(target, requests[0]!);
  await stage.cluster.removePairingRequest({ ...target, uid: 'another' }, requests[1]!);
  expect(read()).toContain('5511999990000');
  await stage.cluster.removePairingRequest(target, requests[1]!);
  expect((await stage.get('shop')).metadata.annotations).toEqual({ team: 'a' });
  expect(read()).not.toContain('5511999990000');
});

describe('change', () => {
  beforeEach(() => stage.create('shop', { account: 'main', displayName: 'Shop' }));

  /** Changes the resource as it was read, without reading it again. */
  const write = (before: InstanceResource, spec: Partial<InstanceSpec>) =>
    stage.state.change({ ...before, spec: { ...before.spec, ...spec } });

  test('changes generation with the spec, resourceVersion with every change', async () => {
    const seen: InstanceResource[] = [await stage.get('shop')];
    seen.push(await stage.change('shop', {}, { a: 'b' }));
    await stage.setFinalizer('shop', true);
    seen.push(await stage.get('shop'));
    seen.push(await stage.change('shop', { displayName: 'Store' }));
    const versions = seen.map(({ metadata }) => metadata.resourceVersion);
    expect(seen.map(({ metadata }) => metadata.generation)).toEqual([1, 1, 1, 2]);
    expect(new Set(versions).size).toBe(4);
    expect([...versions].sort()).toEqual(versions);
  });

  test('rejects an older resourceVersion', async () => {
    const before = await stage.get('shop');
    await write(before, { displayName: 'Store' });
    await expect(write(before, { suspended: true })).rejects.toBeInstanceOf(ResourceConflict);
    expect((await stage.get('shop')).spec).toMatchObject({ displayName: 'Store', suspended: false });
  });

  test('changes nothing of a new resource with the name of a deleted one', async () => {
    const before = await stage.get('shop');
    await stage.delete('shop');
    await expect(write(before, { suspended: true })).rejects.toBeInstanceOf(ResourceConflict);
    await stage.create('shop');
    await expect(write(before, { suspended: true })).rejects.toBeInstanceOf(ResourceConflict);
  });

  test('rejects a change of account or kind', async () => {
    const changed = stage.change('shop', { account: 'other', kind: 'sandbox' });
    await expect(changed).rejects.toBeInstanceOf(ResourceInvalid);
    await expect(changed).rejects.toThrow(/spec\.account: cannot change.*spec\.kind: cannot change/);
  });

  test('removes a field', async () => {
    const { spec, ...before } = await stage.get('shop');
    delete spec.displayName;
    const changed = await stage.state.change({ ...before, spec });
    expect(changed.spec.displayName).toBeUndefined();
  });

  test('loses nothing of concurrent writers', async () => {
    const labels = Array.from({ length: 8 }, (_, i) => `w${i}`);
    await Promise.all(labels.map((label) => stage.change('shop', {}, { [label]: 'x' })));
    expect(Object.keys((await stage.get('shop')).metadata.labels!).sort()).toEqual(labels);
  });
});

describe('delete', () => {
  test('removes a resource without finalizers at once', async () => {
    await stage.create('shop');
    await stage.delete('shop');
    expect(await stage.find('shop')).toBeNull();
    expect(read()).not.toContain('shop');
  });

  test('keeps a resource marked as deleted until its finalizers are gone', async () => {
    await stage.create('shop');
    await stage.setFinalizer('shop', true);
    await stage.delete('shop');
    const { deletionTimestamp } = (await stage.get('shop')).metadata;
    expect(deletionTimestamp).toBeDefined();
    await expect(stage.create('shop')).rejects.toBeInstanceOf(ResourceConflict);
    await stage.delete('shop');
    expect((await stage.get('shop')).metadata.deletionTimestamp).toBe(deletionTimestamp);
    await stage.setFinalizer('shop', false);
    expect(await stage.find('shop')).toBeNull();
    await stage.create('shop');
  });

  test('does nothing for an unknown name, and spares another resource of that name', async () => {
    await stage.delete('nobody');
    await stage.create('shop');
    await stage.cluster.deleteResource({ key: 'default/shop', uid: 'another' });
    expect((await stage.get('shop')).metadata.deletionTimestamp).toBeUndefined();
  });
});

test('writes events to the log', async () => {
  const { metadata } = await stage.create('shop');
  const event = { type: 'Warning', reason: 'EngineExited', message: 'ended by SIGKILL' } as const;
  stage.cluster.recordEvent({ key: 'default/shop', uid: metadata.uid }, event);
  const line = { level: 'warn', instance: 'default/shop', reason: 'EngineExited', msg: 'ended by SIGKILL' };
  expect(JSON.parse(stage.logs.at(-1)!)).toMatchObject(line);
});

describe('refusals', () => {
  const call = async (path: string, body: string, token = TOKEN, method = 'POST') => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(new URL(path, stage.url), {
      method,
      headers,
      ...(method === 'POST' && { body }),
    });
    return [response.status, ((await response.json()) as { error: string }).error];
  };
  const create = '/desired-state/create';
  const place = { name: 'x', namespace: 'default' };
  const spec = (value: unknown) => JSON.stringify({ metadata: place, spec: value });

  test.each<[string, string, string, number, RegExp]>([
    ['an unknown path', '/desired-state/toString', '{}', 404, /not found/],
    ['a malformed body', create, '{"a": [', 422, /not JSON/],
    ['a body that is not an object', create, '[]', 422, /expected object/],
    ['a missing account', create, spec({}), 422, /spec\.account/],
    ['an unknown field', create, spec({ account: 'a', knd: 'web' }), 422, /spec\.knd: unknown field/],
    ['a bad value', create, spec({ account: 'a', kind: 'fax' }), 422, /spec\.kind/],
    ['a bad name', create, JSON.stringify({ metadata: { name: 'Not A Name' } }), 422, /metadata\.name/],
    ['a body of two megabytes', create, `"${'x'.repeat(2_000_000)}"`, 422, /exceeds/],
    ['a change of nothing', '/desired-state/change', '{}', 422, /metadata/],
    ['a place without a name', '/desired-state/get', '{"namespace":"default"}', 422, /name/],
  ])('%s', async (...row) => {
    const [, path, body, status, error] = row;
    expect(await call(path, body)).toEqual([status, expect.stringMatching(error)]);
    expect(await stage.state.list(null)).toEqual([]);
  });

  test('names every invalid field', async () => {
    const [, error] = await call(create, spec({ account: '', kind: 'fax', colour: 'red' }));
    for (const field of ['spec.account', 'spec.colour', 'spec.kind']) expect(error).toContain(field);
  });

  test('rejects a missing and a wrong token, and other methods', async () => {
    expect(await call(create, spec({ account: 'a' }), '')).toEqual([401, expect.any(String)]);
    expect(await call(create, spec({ account: 'a' }), 'x'.repeat(40))).toEqual([401, expect.any(String)]);
    expect(await call('/desired-state/list', '', TOKEN, 'GET')).toEqual([404, expect.any(String)]);
    await expect(connectTo(stage.url, 'wrong').list(null)).rejects.toBeInstanceOf(DesiredStateUnavailable);
  });
});
