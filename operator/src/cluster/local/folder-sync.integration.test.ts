import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@gwk/test/support/operator/folder';
import { INSTANCES, LocalRest } from '@gwk/test/support/operator/local-rest';
import { until } from '@gwk/test/support/wait';

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

async function restart(relistMs?: number): Promise<void> {
  await rest.stop();
  rest = await LocalRest.start(folder.path, relistMs);
}

const path = (file: string) => join(folder.path, file);
const text = (name: string, spec = 'account: main') =>
  `apiVersion: gwk.dev/v1alpha1\nkind: Instance\nmetadata:\n  name: ${name}\nspec:\n  ${spec}\n`;
let written = 0;
/** Dates the file back, because a file written within 100 ms is read a little later. */
function write(file: string, content: string): void {
  writeFileSync(path(file), content);
  const then = Date.now() / 1000 - 60 + written++ / 100;
  utimesSync(path(file), then, then);
}
const SUSPENDED = 'account: main\n  suspended: true';
const exists = (name: string) => async () => (await rest.get(name)).code === 200;
const metadata = async (name: string) => (await rest.get(name)).body.metadata;
const hold = (name: string) => rest.merge(name, { metadata: { finalizers: ['gwk.dev/engine'] } });
const state = (name: string) => path(join('.state', 'resources', `default@${name}.json`));

describe('changes in the folder', () => {
  test('creates an instance from a new file', async () => {
    write('numbers.yaml', text('shop'));
    await until(exists('shop'), { what: 'the instance is there' });
    expect((await rest.get('shop')).body.spec).toMatchObject({ account: 'main', kind: 'web' });
    expect(readFileSync(path('numbers.yaml'), 'utf8')).toBe(text('shop'));
  });

  test('finds a new file by periodic reads', async () => {
    await restart(50);
    rest.cluster.store.folder.stopWatching();
    mkdirSync(path('team'));
    write('team/numbers.yaml', text('shop'));
    await until(exists('shop'), { what: 'the instance is there' });
  });

  test('reads a file once it is complete', async () => {
    writeFileSync(path('shop.yaml'), text('shop'));
    await until(exists('shop'), { what: 'the instance is there' });
  });

  test('changes nothing on another read', async () => {
    write('shop.yaml', text('shop'));
    await rest.read();
    const before = (await rest.call('GET', INSTANCES)).body;
    await rest.readMuchLater();
    expect((await rest.call('GET', INSTANCES)).body).toEqual(before);
  });

  test('increases the generation on an edit and keeps the uid', async () => {
    write('shop.yaml', text('shop'));
    await rest.read();
    const { uid } = await metadata('shop');
    write('shop.yaml', text('shop', SUSPENDED));
    await rest.read();
    expect((await rest.get('shop')).body.spec.suspended).toBe(true);
    expect(await metadata('shop')).toMatchObject({ uid, generation: 2 });
  });

  test('deletes the instance 2 s after its file was removed', async () => {
    write('shop.yaml', text('shop'));
    await rest.read();
    rmSync(path('shop.yaml'));
    await rest.read();
    rest.now += 1_999;
    await rest.read();
    expect(await exists('shop')()).toBe(true);
    rest.now += 1;
    await rest.read();
    expect(await exists('shop')()).toBe(false);
  });

  test('writes a new file for an apply just after the file was removed', async () => {
    const { uid } = (await rest.apply('shop', { account: 'main' })).body.metadata;
    rmSync(path('shop.yaml'));
    await rest.apply('shop', { account: 'main' });
    expect(readFileSync(path('shop.yaml'), 'utf8')).toContain('name: shop');
    await rest.readMuchLater();
    expect(await metadata('shop')).toMatchObject({ uid });
    expect((await metadata('shop')).deletionTimestamp).toBeUndefined();
  });

  test('writes its own file for an apply just after it was removed from a file of several', async () => {
    write('many.yaml', `${text('shop')}---\n${text('help')}`);
    await rest.read();
    write('many.yaml', text('help'));
    await rest.apply('shop', { account: 'main', suspended: true });
    await rest.readMuchLater();
    expect(readFileSync(path('many.yaml'), 'utf8')).toBe(text('help'));
    expect(readFileSync(path('shop.yaml'), 'utf8')).toContain('suspended: true');
    expect(await exists('shop')()).toBe(true);
    expect(await exists('help')()).toBe(true);
  });

  test('deletes nothing when an editor removes and rewrites a file', async () => {
    write('shop.yaml', text('shop'));
    await rest.read();
    const before = await metadata('shop');
    rmSync(path('shop.yaml'));
    await rest.read();
    write('shop.yaml', text('shop', SUSPENDED));
    await rest.readMuchLater();
    expect((await rest.get('shop')).body.spec.suspended).toBe(true);
    expect(await metadata('shop')).toMatchObject({ uid: before.uid, generation: 2 });
  });

  test('keeps the instance when its file is moved', async () => {
    write('shop.yaml', text('shop'));
    await rest.read();
    const { uid } = await metadata('shop');
    mkdirSync(path('team'));
    renameSync(path('shop.yaml'), path('team/a.yml'));
    await rest.readMuchLater();
    expect(await metadata('shop')).toMatchObject({ uid });
    await rest.merge('shop', { spec: { suspended: true } });
    expect(readFileSync(path('team/a.yml'), 'utf8')).toContain('suspended: true');
  });

  test('writes a change through the API into the original file', async () => {
    write('many.yaml', `${text('shop')}---\n${text('help')}`);
    await rest.read();
    await rest.merge('help', { spec: { suspended: true } });
    expect(readFileSync(path('many.yaml'), 'utf8')).toBe(`${text('shop')}---\n${text('help', SUSPENDED)}`);
    await rest.call('DELETE', `${INSTANCES}/shop`);
    expect(readFileSync(path('many.yaml'), 'utf8')).not.toContain('shop');
    await rest.readMuchLater();
    expect(await metadata('help')).toMatchObject({ generation: 2 });
  });
});

describe('invalid content', () => {
  const faults = () => [...rest.cluster.sync.faults];

  test('reports an invalid file and keeps its previous content', async () => {
    write('shop.yaml', text('shop'));
    await rest.read();
    write('shop.yaml', 'spec: [');
    await rest.read();
    expect(faults()[0]![0]).toBe('shop.yaml');
    await rest.readMuchLater();
    expect(await metadata('shop')).toMatchObject({ generation: 1 });
    const { items } = (
      await rest.call('GET', '/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=shop')
    ).body as unknown as { items: { reason: string }[] };
    expect(items.map(({ reason }) => reason)).toContain('InvalidManifest');
    write('shop.yaml', text('shop', SUSPENDED));
    await rest.read();
    expect((await rest.get('shop')).body.spec.suspended).toBe(true);
    expect(faults()).toEqual([]);
  });

  test('does not overwrite an invalid file on a change through the API', async () => {
    write('many.yaml', `${text('shop')}---\n${text('help')}`);
    await rest.read();
    const broken = `${text('shop')}---\n${text('help')}  oops: [`;
    write('many.yaml', broken);
    await rest.merge('shop', { spec: { suspended: true } });
    await rest.apply('help', { account: 'main' });
    await rest.readMuchLater();
    expect(readFileSync(path('many.yaml'), 'utf8')).toBe(broken);
    expect(readFileSync(path('shop.yaml'), 'utf8')).toContain('suspended: true');
    expect(await exists('help')()).toBe(true);
  });

  test('deletes nothing for an emptied file', async () => {
    write('shop.yaml', text('shop'));
    await rest.read();
    write('shop.yaml', '');
    await rest.readMuchLater();
    expect(faults()).toEqual([['shop.yaml', 'it is empty']]);
    expect(await exists('shop')()).toBe(true);
  });

  test('rejects a change of an immutable field and reports the file', async () => {
    write('shop.yaml', text('shop'));
    await rest.read();
    write('shop.yaml', text('shop', 'account: other'));
    await rest.read();
    expect(faults()[0]![1]).toContain('spec.account: cannot change');
    expect((await rest.get('shop')).body.spec.account).toBe('main');
  });

  test('keeps the first of two files with one name, whatever other files contain', async () => {
    write('b.yaml', text('shop', 'account: main'));
    await rest.read();
    write('a.yaml', text('shop', 'account: other'));
    write('c.yaml', '%%%');
    write('d.yaml', text('help'));
    await rest.read();
    expect(await exists('help')()).toBe(true);
    expect((await rest.get('shop')).body.spec.account).toBe('main');
    expect(faults()).toHaveLength(2);
    expect(Object.fromEntries(faults())).toMatchObject({
      'a.yaml': 'default/shop is already defined in b.yaml',
    });
  });

  test('deletes nothing while the folder is missing', async () => {
    write('shop.yaml', text('shop'));
    await rest.read();
    const aside = `${folder.path}-aside`;
    renameSync(folder.path, aside);
    await rest.readMuchLater();
    expect(rest.cluster.checks()['folder']).toContain('ENOENT');
    expect(await exists('shop')()).toBe(true);
    renameSync(aside, folder.path);
    await rest.readMuchLater();
    expect(rest.cluster.checks()['folder']).toBeNull();
    expect(await exists('shop')()).toBe(true);
  });
});

describe('a restart', () => {
  test('keeps identity, generation, status, finalizers and events', async () => {
    await rest.apply('shop', { account: 'main' });
    await rest.merge('shop', { spec: { suspended: true } });
    await hold('shop');
    const { metadata: before } = (await rest.get('shop')).body;
    const target = { key: 'default/shop', uid: before.uid };
    await rest.cluster.setStatus(target, { state: 'connected', conditions: [] });
    rest.cluster.recordEvent(target, { type: 'Normal', reason: 'Something', message: 'happened' });
    await restart();
    const { body } = await rest.get('shop');
    expect(body.metadata).toEqual({ ...before, resourceVersion: expect.any(String) as string });
    expect(Number(body.metadata.resourceVersion)).toBeGreaterThan(Number(before.resourceVersion));
    expect(body.status).toMatchObject({ state: 'connected' });
    expect(rest.cluster.store.get('default/shop')!.events).toMatchObject([{ reason: 'Something' }]);
  });

  test('keeps the owners of fields', async () => {
    await rest.apply('shop', { account: 'main', displayName: 'Shop' }, { manager: 'a' });
    await restart();
    const dropped = await rest.apply('shop', { account: 'main' }, { manager: 'a' });
    expect(dropped.body.spec.displayName).toBeUndefined();
  });

  test('imports files changed, added and removed meanwhile', async () => {
    await rest.apply('stays', { account: 'main' });
    await rest.apply('goes', { account: 'main' });
    await rest.stop();
    write('stays.yaml', text('stays', SUSPENDED));
    write('new.yaml', text('new'));
    rmSync(path('goes.yaml'));
    rest = await LocalRest.start(folder.path);
    expect(await exists('new')()).toBe(true);
    expect(await metadata('stays')).toMatchObject({ generation: 2 });
    await rest.readMuchLater();
    expect(await exists('goes')()).toBe(false);
  });

  test('continues a deletion', async () => {
    await rest.apply('shop', { account: 'main' });
    await hold('shop');
    await rest.call('DELETE', `${INSTANCES}/shop`);
    await restart();
    expect((await metadata('shop')).deletionTimestamp).toBeDefined();
    await rest.merge('shop', { metadata: { finalizers: [] } });
    await restart();
    expect(await exists('shop')()).toBe(false);
  });

  test('creates a new instance from a manifest restored during the deletion', async () => {
    await rest.apply('shop', { account: 'main' });
    await hold('shop');
    const { uid } = await metadata('shop');
    await rest.call('DELETE', `${INSTANCES}/shop`);
    write('shop.yaml', text('shop'));
    await rest.readMuchLater();
    expect((await metadata('shop')).deletionTimestamp).toBeDefined();
    await rest.merge('shop', { metadata: { finalizers: [] } });
    await until(exists('shop'), { what: 'a new one is there' });
    const created = await metadata('shop');
    expect(created.uid).not.toBe(uid);
    expect(created.deletionTimestamp).toBeUndefined();
  });
});

describe('a crash between two writes', () => {
  const stored = (name: string) => JSON.parse(readFileSync(state(name), 'utf8')) as Record<string, unknown>;

  test('imports a manifest without a state', async () => {
    await rest.stop();
    write('shop.yaml', text('shop'));
    rest = await LocalRest.start(folder.path);
    expect(await exists('shop')()).toBe(true);
  });

  test('imports a manifest that is newer than its state', async () => {
    await rest.apply('shop', { account: 'main' });
    const before = stored('shop');
    await rest.merge('shop', { spec: { suspended: true } });
    await rest.stop();
    writeFileSync(state('shop'), JSON.stringify(before));
    rest = await LocalRest.start(folder.path);
    await until(async () => (await rest.get('shop')).body.spec.suspended, { what: 'the change is there' });
    expect(await metadata('shop')).toMatchObject({ generation: 2, uid: before['uid'] });
  });

  test('removes the manifest of a resource marked as deleted', async () => {
    await rest.apply('shop', { account: 'main' });
    await hold('shop');
    await rest.stop();
    writeFileSync(
      state('shop'),
      JSON.stringify({ ...stored('shop'), deletionTimestamp: new Date().toISOString() }),
    );
    rest = await LocalRest.start(folder.path);
    expect(existsSync(path('shop.yaml'))).toBe(false);
    await rest.merge('shop', { metadata: { finalizers: [] } });
    expect(await exists('shop')()).toBe(false);
  });

  test('ignores an incomplete status file', async () => {
    await rest.apply('shop', { account: 'main' });
    await rest.cluster.setStatus(
      { key: 'default/shop', uid: (await metadata('shop')).uid },
      { state: 'x', conditions: [] },
    );
    await rest.stop();
    writeFileSync(path('.state/status/default@shop.json'), '{"uid": "');
    rest = await LocalRest.start(folder.path);
    expect((await rest.get('shop')).body).not.toHaveProperty('status');
  });

  test('fails the start with the name of a corrupt state file', async () => {
    await rest.apply('shop', { account: 'main' });
    await rest.stop();
    const good = readFileSync(state('shop'), 'utf8');
    writeFileSync(state('shop'), 'x');
    await expect(LocalRest.start(folder.path)).rejects.toThrow('default@shop.json is corrupt');
    writeFileSync(state('shop'), good);
    rest = await LocalRest.start(folder.path);
  });
});

test('refuses a second operator on the same folder', async () => {
  await expect(LocalRest.start(folder.path)).rejects.toThrow(`another operator (pid ${process.pid}) uses`);
});
