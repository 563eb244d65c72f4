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
/** Long enough ago to be whole: a file that is written this moment is read a little later. */
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

describe('what people put into the folder', () => {
  test('a file dropped there becomes an instance', async () => {
    write('numbers.yaml', text('shop'));
    await until(exists('shop'), { what: 'the instance is there' });
    expect((await rest.get('shop')).body.spec).toMatchObject({ account: 'main', kind: 'web' });
    expect(readFileSync(path('numbers.yaml'), 'utf8')).toBe(text('shop'));
  });

  test('one that nobody was told of is found by looking again and again', async () => {
    await restart(50);
    rest.cluster.store.folder.stopWatching();
    mkdirSync(path('team'));
    write('team/numbers.yaml', text('shop'));
    await until(exists('shop'), { what: 'the instance is there' });
  });

  test('one that is written this moment is read once it is whole', async () => {
    writeFileSync(path('shop.yaml'), text('shop'));
    await until(exists('shop'), { what: 'the instance is there' });
  });

  test('reading it again changes nothing', async () => {
    write('shop.yaml', text('shop'));
    await rest.read();
    const before = (await rest.call('GET', INSTANCES)).body;
    await rest.readMuchLater();
    expect((await rest.call('GET', INSTANCES)).body).toEqual(before);
  });

  test('an edit is a new generation, and the uid stays', async () => {
    write('shop.yaml', text('shop'));
    await rest.read();
    const { uid } = await metadata('shop');
    write('shop.yaml', text('shop', SUSPENDED));
    await rest.read();
    expect((await rest.get('shop')).body.spec.suspended).toBe(true);
    expect(await metadata('shop')).toMatchObject({ uid, generation: 2 });
  });

  test('a file removed is an instance deleted, after 2 s', async () => {
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

  test('what is applied just after its file was removed stays, and has a file again', async () => {
    const { uid } = (await rest.apply('shop', { account: 'main' })).body.metadata;
    rmSync(path('shop.yaml'));
    await rest.apply('shop', { account: 'main' });
    expect(readFileSync(path('shop.yaml'), 'utf8')).toContain('name: shop');
    await rest.readMuchLater();
    expect(await metadata('shop')).toMatchObject({ uid });
    expect((await metadata('shop')).deletionTimestamp).toBeUndefined();
  });

  test('what is applied just after it was taken out of a file of many stays, in a file of its own', async () => {
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

  test('an editor that removes a file before it writes it anew deletes nothing', async () => {
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

  test('a file moved, into a folder even, is the same instance', async () => {
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

  test('a change through the interface is written into the file that it came from', async () => {
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

describe('what makes no sense', () => {
  const faults = () => [...rest.cluster.sync.faults];

  test('a broken file is reported and what it said before stays', async () => {
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

  test('a change through the interface writes nothing over a broken file', async () => {
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

  test('a file emptied deletes nothing', async () => {
    write('shop.yaml', text('shop'));
    await rest.read();
    write('shop.yaml', '');
    await rest.readMuchLater();
    expect(faults()).toEqual([['shop.yaml', 'it is empty']]);
    expect(await exists('shop')()).toBe(true);
  });

  test('a change that no instance may make is refused, and the file reported', async () => {
    write('shop.yaml', text('shop'));
    await rest.read();
    write('shop.yaml', text('shop', 'account: other'));
    await rest.read();
    expect(faults()[0]![1]).toContain('spec.account: cannot change');
    expect((await rest.get('shop')).body.spec.account).toBe('main');
  });

  test('of two files for one name the one that had it keeps it, and a broken file harms no other', async () => {
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
      'a.yaml': 'default/shop is described in b.yaml already',
    });
  });

  test('a folder that vanished deletes nothing', async () => {
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

describe('across restarts', () => {
  test('identity, generation, status, holders and story stay', async () => {
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

  test('an owner of fields is remembered', async () => {
    await rest.apply('shop', { account: 'main', displayName: 'Shop' }, { manager: 'a' });
    await restart();
    const dropped = await rest.apply('shop', { account: 'main' }, { manager: 'a' });
    expect(dropped.body.spec.displayName).toBeUndefined();
  });

  test('files changed, dropped and removed meanwhile are noticed', async () => {
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

  test('a resource that is being deleted goes on being deleted', async () => {
    await rest.apply('shop', { account: 'main' });
    await hold('shop');
    await rest.call('DELETE', `${INSTANCES}/shop`);
    await restart();
    expect((await metadata('shop')).deletionTimestamp).toBeDefined();
    await rest.merge('shop', { metadata: { finalizers: [] } });
    await restart();
    expect(await exists('shop')()).toBe(false);
  });

  test('a manifest put back while the old instance goes is a new instance afterwards', async () => {
    await rest.apply('shop', { account: 'main' });
    await hold('shop');
    const { uid } = await metadata('shop');
    await rest.call('DELETE', `${INSTANCES}/shop`);
    write('shop.yaml', text('shop'));
    await rest.readMuchLater();
    expect((await metadata('shop')).deletionTimestamp).toBeDefined();
    await rest.merge('shop', { metadata: { finalizers: [] } });
    await until(exists('shop'), { what: 'a new one is there' });
    const anew = await metadata('shop');
    expect(anew.uid).not.toBe(uid);
    expect(anew.deletionTimestamp).toBeUndefined();
  });
});

describe('killed in between', () => {
  const stored = (name: string) => JSON.parse(readFileSync(state(name), 'utf8')) as Record<string, unknown>;

  test('a manifest written without its state is taken in', async () => {
    await rest.stop();
    write('shop.yaml', text('shop'));
    rest = await LocalRest.start(folder.path);
    expect(await exists('shop')()).toBe(true);
  });

  test('a manifest written ahead of its state is a change', async () => {
    await rest.apply('shop', { account: 'main' });
    const before = stored('shop');
    await rest.merge('shop', { spec: { suspended: true } });
    await rest.stop();
    writeFileSync(state('shop'), JSON.stringify(before));
    rest = await LocalRest.start(folder.path);
    await until(async () => (await rest.get('shop')).body.spec.suspended, { what: 'the change is there' });
    expect(await metadata('shop')).toMatchObject({ generation: 2, uid: before['uid'] });
  });

  test('a resource marked as deleted loses the manifest that was still there', async () => {
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

  test('a status lost or half-written is volatile again', async () => {
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

  test('a state that is not what was written stops the start, and says which file', async () => {
    await rest.apply('shop', { account: 'main' });
    await rest.stop();
    const good = readFileSync(state('shop'), 'utf8');
    writeFileSync(state('shop'), 'x');
    await expect(LocalRest.start(folder.path)).rejects.toThrow(
      'default@shop.json is not what was written there',
    );
    writeFileSync(state('shop'), good);
    rest = await LocalRest.start(folder.path);
  });
});

test('two operators never work on one folder', async () => {
  await expect(LocalRest.start(folder.path)).rejects.toThrow(
    `another operator (pid ${process.pid}) works on`,
  );
});
