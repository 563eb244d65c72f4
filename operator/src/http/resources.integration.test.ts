import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@gwk/test/support/operator/folder';
import { until } from '@gwk/test/support/wait';
import { INSTANCES, LocalRest, manifest, type Answer } from '@gwk/test/support/operator/local-rest';

let folder: ReturnType<typeof temporaryFolder>;
let rest: LocalRest;

beforeEach(async () => {
  folder = temporaryFolder();
  rest = await LocalRest.start(folder.path);
});

afterEach(async () => {
  await rest.stop();
  folder.remove();
});

const create = (name: string, spec?: object, metadata?: object): Promise<Answer> =>
  rest.call('POST', INSTANCES, { body: manifest(name, spec, metadata), type: 'application/json' });

describe('create', () => {
  test('creates a resource with defaults, uid and manifest', async () => {
    const { code, body } = await create('shop', { account: 'main' }, { labels: { team: 'a' } });
    expect(code).toBe(201);
    expect(body).toMatchObject({
      apiVersion: 'gwk.dev/v1alpha1',
      kind: 'Instance',
      metadata: { name: 'shop', namespace: 'default', generation: 1, labels: { team: 'a' } },
      spec: { account: 'main', kind: 'web', interactiveMode: 'native+text', suspended: false },
    });
    expect(body.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(body.metadata.resourceVersion).toMatch(/^\d+$/);
    expect(readFileSync(join(folder.path, 'shop.yaml'), 'utf8')).toContain('account: main');
    expect(rest.changed).toContain('default/shop');
  });

  test('rejects an existing name with AlreadyExists', async () => {
    await create('shop');
    expect(await create('shop')).toMatchObject({
      code: 409,
      body: {
        kind: 'Status',
        status: 'Failure',
        reason: 'AlreadyExists',
        code: 409,
        details: { name: 'shop', kind: 'instances' },
      },
    });
  });

  test('creates a missing resource on apply, and changes nothing on a second apply', async () => {
    const first = await rest.apply('shop', { account: 'main', kind: 'sandbox' });
    const again = await rest.apply('shop', { account: 'main', kind: 'sandbox' });
    expect([first.code, again.code]).toEqual([201, 200]);
    expect(again.body.metadata).toEqual(first.body.metadata);
  });

  test('creates nothing with the uid of a deleted resource', async () => {
    const { code, body } = await rest.apply('shop', { account: 'main' }, { metadata: { uid: 'of-another' } });
    expect([code, body['reason']]).toEqual([404, 'NotFound']);
  });

  test('separates equal names of different namespaces', async () => {
    const path = INSTANCES.replace('/default/', '/support/');
    await create('shop');
    await rest.call('POST', path, { body: manifest('shop', { account: 'other' }), type: 'application/json' });
    expect((await rest.call('GET', `${path}/shop`)).body.spec.account).toBe('other');
    expect((await rest.get('shop')).body.spec.account).toBe('main');
    expect(existsSync(join(folder.path, 'support.shop.yaml'))).toBe(true);
  });
});

describe('update', () => {
  beforeEach(async () => {
    await rest.apply('shop', { account: 'main', displayName: 'Shop' });
  });

  test('changes generation with the spec, resourceVersion with every change', async () => {
    const versions: string[] = [];
    const generations: number[] = [];
    const note = ({ body }: Answer) => {
      versions.push(body.metadata.resourceVersion);
      generations.push(body.metadata.generation);
    };
    note(await rest.get('shop'));
    note(await rest.merge('shop', { metadata: { labels: { a: 'b' } } }));
    note(await rest.merge('shop', { metadata: { finalizers: ['x/y'] } }));
    note(
      await rest.call('PATCH', `${INSTANCES}/shop/status`, {
        body: { status: { state: 'connected' } },
        type: 'application/merge-patch+json',
      }),
    );
    note(await rest.merge('shop', { spec: { displayName: 'Store' } }));
    note(await rest.merge('shop', { spec: { displayName: 'Store' } }));
    expect(generations).toEqual([1, 1, 1, 1, 2, 2]);
    expect(new Set(versions.slice(0, 5)).size).toBe(5);
    expect(versions[5]).toBe(versions[4]);
    expect([...versions].sort()).toEqual(versions);
  });

  test('rejects an older resourceVersion', async () => {
    const { body } = await rest.get('shop');
    const { resourceVersion } = body.metadata;
    expect((await rest.apply('shop', { account: 'main' }, { metadata: { resourceVersion } })).code).toBe(200);
    const late = await rest.apply(
      'shop',
      { account: 'main', suspended: true },
      { metadata: { resourceVersion } },
    );
    expect([late.code, late.body['reason']]).toEqual([409, 'Conflict']);
    expect(
      (await rest.merge('shop', { metadata: { resourceVersion }, spec: { suspended: true } })).code,
    ).toBe(409);
    expect((await rest.get('shop')).body.spec.suspended).toBe(false);
  });

  test('removes fields that the manager leaves out, and keeps those of others', async () => {
    await rest.apply('shop', { suspended: true }, { manager: 'somebody' });
    const { body } = await rest.apply('shop', { account: 'main' });
    expect(body.spec).toEqual({
      account: 'main',
      kind: 'web',
      interactiveMode: 'native+text',
      suspended: true,
    });
  });

  test('rejects a change of a foreign field without force', async () => {
    const refused = await rest.apply('shop', { displayName: 'Mine' }, { manager: 'somebody' });
    expect(refused).toMatchObject({
      code: 409,
      body: {
        reason: 'Conflict',
        details: { causes: [{ reason: 'FieldManagerConflict', field: '.spec.displayName' }] },
      },
    });
    const forced = await rest.apply('shop', { displayName: 'Mine' }, { manager: 'somebody', force: true });
    expect(forced.body.spec.displayName).toBe('Mine');
  });

  test('rejects a change of account or kind', async () => {
    const { code, body } = await rest.apply('shop', { account: 'other', kind: 'sandbox' });
    expect([code, body['reason']]).toEqual([422, 'Invalid']);
    expect(body['details']).toMatchObject({ causes: [{ field: 'spec.account' }, { field: 'spec.kind' }] });
  });

  test('removes a field by null in a merge patch', async () => {
    const { body } = await rest.merge('shop', { spec: { displayName: null } });
    expect(body.spec.displayName).toBeUndefined();
    expect(readFileSync(join(folder.path, 'shop.yaml'), 'utf8')).not.toContain('displayName');
  });

  test('keeps comments of the manifest', async () => {
    const path = join(folder.path, 'shop.yaml');
    const text = readFileSync(path, 'utf8').replace('spec:', 'spec:\n  # ours since 2019');
    writeFileSync(path, text);
    await rest.merge('shop', { spec: { suspended: true } });
    expect(readFileSync(path, 'utf8')).toMatch(/# ours since 2019[\s\S]*suspended: true/);
  });

  test('includes an edit of the file just before the change', async () => {
    const path = join(folder.path, 'shop.yaml');
    writeFileSync(path, readFileSync(path, 'utf8').replace('displayName: Shop', 'displayName: By hand'));
    const { body } = await rest.merge('shop', { spec: { suspended: true } });
    expect(body.spec).toMatchObject({ displayName: 'By hand', suspended: true });
    expect(body.metadata.generation).toBe(3);
  });

  test('includes an edit of the file after a read of an incomplete file', async () => {
    const path = join(folder.path, 'shop.yaml');
    writeFileSync(path, readFileSync(path, 'utf8').replace('displayName: Shop', 'displayName: By hand'));
    await rest.read();
    const { body } = await rest.merge('shop', { spec: { suspended: true } });
    expect(body.spec).toMatchObject({ displayName: 'By hand', suspended: true });
  });

  test('serializes 50 concurrent writers', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => rest.merge('shop', { metadata: { labels: { [`w${i}`]: 'x' } } })),
    );
    expect(answers.map(({ code }) => code)).toEqual(Array(50).fill(200));
    expect(Object.keys((await rest.get('shop')).body.metadata.labels!)).toHaveLength(50);
  });
});

describe('delete', () => {
  test('removes a resource without finalizers at once, with its manifest', async () => {
    await create('shop');
    expect((await rest.call('DELETE', `${INSTANCES}/shop`)).code).toBe(200);
    expect((await rest.get('shop')).code).toBe(404);
    expect(existsSync(join(folder.path, 'shop.yaml'))).toBe(false);
  });

  test('keeps a resource marked as deleted until its finalizers are gone', async () => {
    await create('shop');
    await rest.merge('shop', { metadata: { finalizers: ['gwk.dev/engine'] } });
    const { code, body } = await rest.call('DELETE', `${INSTANCES}/shop`);
    expect(code).toBe(200);
    expect(body.metadata.deletionTimestamp).toBeDefined();
    expect(existsSync(join(folder.path, 'shop.yaml'))).toBe(false);
    expect((await rest.get('shop')).body.metadata.deletionTimestamp).toBe(body.metadata.deletionTimestamp);
    expect((await create('shop')).code).toBe(409);
    await rest.merge('shop', { metadata: { finalizers: [] } });
    expect((await rest.get('shop')).code).toBe(404);
    expect((await create('shop')).code).toBe(201);
  });

  test('changes nothing on a second delete', async () => {
    await create('shop');
    await rest.merge('shop', { metadata: { finalizers: ['gwk.dev/engine'] } });
    const first = await rest.call('DELETE', `${INSTANCES}/shop`);
    const second = await rest.call('DELETE', `${INSTANCES}/shop`);
    expect(second.body.metadata).toEqual(first.body.metadata);
  });

  test('checks the uid precondition', async () => {
    await create('shop');
    const refused = await rest.call('DELETE', `${INSTANCES}/shop`, {
      body: { preconditions: { uid: 'another' } },
      type: 'application/json',
    });
    expect([refused.code, refused.body['reason']]).toEqual([409, 'Conflict']);
    expect((await rest.call('DELETE', `${INSTANCES}/nobody`)).code).toBe(404);
  });
});

describe('read', () => {
  beforeEach(async () => {
    await create('a', undefined, { labels: { tier: 'one' } });
    await create('b', undefined, { labels: { tier: 'two' } });
    const support = INSTANCES.replace('/default/', '/support/');
    await rest.call('POST', support, { body: manifest('c'), type: 'application/json' });
  });

  const names = ({ body }: Answer): string[] =>
    (body['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);

  test.each([
    [INSTANCES, ['a', 'b']],
    ['/apis/gwk.dev/v1alpha1/instances', ['a', 'b', 'c']],
    [`${INSTANCES}?labelSelector=tier%3Done`, ['a']],
    [`${INSTANCES}?labelSelector=tier!%3Done`, ['b']],
    [`${INSTANCES}?fieldSelector=metadata.name%3Db`, ['b']],
  ])('GET %s', async (path, expected) => {
    const answer = await rest.call('GET', path);
    expect(names(answer)).toEqual(expected);
    expect(answer.body).toMatchObject({
      kind: 'InstanceList',
      metadata: { resourceVersion: expect.any(String) as string },
    });
  });

  test('watches current objects and then changes', async () => {
    const types: string[] = [];
    const abort = new AbortController();
    const response = await fetch(new URL(`${INSTANCES}?watch=true`, rest.url), {
      headers: { authorization: 'Bearer a-token-of-the-local-cluster-for-tests' },
      signal: abort.signal,
    });
    const reading = readLines(response, (line) => types.push(outlineOf(line)));
    await until(() => types.length === 2, { what: 'both are reported' });
    await rest.merge('a', { spec: { suspended: true } });
    await rest.call('DELETE', `${INSTANCES}/b`);
    await until(() => types.includes('DELETED b'), { what: 'the changes are reported' });
    abort.abort();
    await reading;
    expect(types).toEqual(['ADDED a', 'ADDED b', 'MODIFIED a', 'MODIFIED b', 'MODIFIED b', 'DELETED b']);
  });

  test('watches from the version of a list, or reports Expired', async () => {
    const list = await rest.call('GET', INSTANCES);
    const { resourceVersion } = (list.body as { metadata: { resourceVersion: string } }).metadata;
    await rest.merge('a', { spec: { suspended: true } });
    const from = async (version: string) => {
      const path = `${INSTANCES}?watch=true&timeoutSeconds=1&resourceVersion=${version}`;
      const response = await fetch(new URL(path, rest.url), {
        headers: { authorization: 'Bearer a-token-of-the-local-cluster-for-tests' },
      });
      const seen: string[] = [];
      await readLines(response, (line) => seen.push(outlineOf(line)));
      return seen;
    };
    expect(await from(resourceVersion)).toEqual(['MODIFIED a']);
    expect(await from('17')).toEqual(['ERROR Expired']);
  });
});

async function readLines(response: Response, take: (line: string) => void): Promise<void> {
  let rest = '';
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop()!;
      lines.forEach(take);
    }
  } catch (error) {
    if ((error as Error).name !== 'AbortError') throw error;
  }
}

function outlineOf(line: string): string {
  const { type, object } = JSON.parse(line) as {
    type: string;
    object: { reason?: string; metadata: { name?: string } };
  };
  return `${type} ${object.metadata.name ?? object.reason}`;
}
