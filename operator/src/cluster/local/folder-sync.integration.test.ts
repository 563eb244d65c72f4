import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@gwk/test/support/operator/folder';
import { LocalStage } from '@gwk/test/support/operator/local-stage';
import type { Entry } from './manifest-store.js';
import { until } from '@gwk/test/support/wait';

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

async function restart(relistMs?: number): Promise<void> {
  await stage.stop();
  stage = await LocalStage.start(folder.path, { relistMs });
}

const path = (file: string) => join(folder.path, file);
const text = (name: string, spec = 'account: main') =>
  `apiVersion: gwk.dev/v1\nkind: Instance\nmetadata:\n  name: ${name}\nspec:\n  ${spec}\n`;
let written = 0;
/** Dates the file back, because a file written within 100 ms is read a little later. */
function write(file: string, content: string): void {
  writeFileSync(path(file), content);
  const then = Date.now() / 1000 - 60 + written++ / 100;
  utimesSync(path(file), then, then);
}
const SUSPENDED = 'account: main\n  suspended: true';
const exists = (name: string) => async () => (await stage.find(name)) !== null;
const metadata = async (name: string) => (await stage.get(name)).metadata;
const hold = (name: string) => stage.setFinalizer(name, true);
const state = (name: string) => path(join('.state', 'resources', `default@${name}.json`));

describe('changes in the folder', () => {
  test('creates an instance from a new file', async () => {
    write('numbers.yaml', text('shop'));
    await until(exists('shop'), { what: 'the instance is there' });
    expect((await stage.get('shop')).spec).toMatchObject({ account: 'main', kind: 'web' });
    expect(readFileSync(path('numbers.yaml'), 'utf8')).toBe(text('shop'));
  });

  test('finds a new file by periodic reads', async () => {
    await restart(50);
    stage.cluster.store.folder.stopWatching();
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
    await stage.read();
    const before = await stage.state.list(null);
    await stage.readMuchLater();
    expect(await stage.state.list(null)).toEqual(before);
  });

  test('increases the generation on an edit and keeps the uid', async () => {
    write('shop.yaml', text('shop'));
    await stage.read();
    const { uid } = await metadata('shop');
    write('shop.yaml', text('shop', SUSPENDED));
    await stage.read();
    expect((await stage.get('shop')).spec.suspended).toBe(true);
    expect(await metadata('shop')).toMatchObject({ uid, generation: 2 });
  });

  test('deletes the instance 2 s after its file was removed', async () => {
    write('shop.yaml', text('shop'));
    await stage.read();
    rmSync(path('shop.yaml'));
    await stage.read();
    stage.now += 1_999;
    await stage.read();
    expect(await exists('shop')()).toBe(true);
    stage.now += 1;
    await stage.read();
    expect(await exists('shop')()).toBe(false);
  });

  test('writes a new file for an apply just after the file was removed', async () => {
    const { uid } = (await stage.create('shop')).metadata;
    rmSync(path('shop.yaml'));
    await stage.change('shop', {});
    expect(readFileSync(path('shop.yaml'), 'utf8')).toContain('name: shop');
    await stage.readMuchLater();
    expect(await metadata('shop')).toMatchObject({ uid });
    expect((await metadata('shop')).deletionTimestamp).toBeUndefined();
  });

  test('writes its own file for an apply just after it was removed from a file of several', async () => {
    write('many.yaml', `${text('shop')}---\n${text('help')}`);
    await stage.read();
    write('many.yaml', text('help'));
    await stage.change('shop', { suspended: true });
    await stage.readMuchLater();
    expect(readFileSync(path('many.yaml'), 'utf8')).toBe(text('help'));
    expect(readFileSync(path('shop.yaml'), 'utf8')).toContain('suspended: true');
    expect(await exists('shop')()).toBe(true);
    expect(await exists('help')()).toBe(true);
  });

  test('deletes nothing when an editor removes and rewrites a file', async () => {
    write('shop.yaml', text('shop'));
    await stage.read();
    const before = await metadata('shop');
    rmSync(path('shop.yaml'));
    await stage.read();
    write('shop.yaml', text('shop', SUSPENDED));
    await stage.readMuchLater();
    expect((await stage.get('shop')).spec.suspended).toBe(true);
    expect(await metadata('shop')).toMatchObject({ uid: before.uid, generation: 2 });
  });

  test('keeps the instance when its file is moved', async () => {
    write('shop.yaml', text('shop'));
    await stage.read();
    const { uid } = await metadata('shop');
    mkdirSync(path('team'));
    renameSync(path('shop.yaml'), path('team/a.yml'));
    await stage.readMuchLater();
    expect(await metadata('shop')).toMatchObject({ uid });
    await stage.change('shop', { suspended: true });
    expect(readFileSync(path('team/a.yml'), 'utf8')).toContain('suspended: true');
  });

  test('writes a change through the API into the original file', async () => {
    write('many.yaml', `${text('shop')}---\n${text('help')}`);
    await stage.read();
    await stage.change('help', { suspended: true });
    expect(readFileSync(path('many.yaml'), 'utf8')).toBe(`${text('shop')}---\n${text('help', SUSPENDED)}`);
    await stage.delete('shop');
    expect(readFileSync(path('many.yaml'), 'utf8')).not.toContain('shop');
    await stage.readMuchLater();
    expect(await metadata('help')).toMatchObject({ generation: 2 });
  });
});

describe('invalid content', () => {
  const faults = () => [...stage.cluster.sync.faults];

  test('reports an invalid file and keeps its previous content', async () => {
    write('shop.yaml', text('shop'));
    await stage.read();
    write('shop.yaml', 'spec: [');
    await stage.read();
    expect(faults()[0]![0]).toBe('shop.yaml');
    await stage.readMuchLater();
    expect(await metadata('shop')).toMatchObject({ generation: 1 });
    const { events } = (await stage.state.details({ namespace: 'default', name: 'shop' }))!;
    expect(events.map(({ reason }) => reason)).toContain('InvalidManifest');
    write('shop.yaml', text('shop', SUSPENDED));
    await stage.read();
    expect((await stage.get('shop')).spec.suspended).toBe(true);
    expect(faults()).toEqual([]);
  });

  test('does not overwrite an invalid file on a change through the API', async () => {
    write('many.yaml', `${text('shop')}---\n${text('help')}`);
    await stage.read();
    const broken = `${text('shop')}---\n${text('help')}  oops: [`;
    write('many.yaml', broken);
    await stage.change('shop', { suspended: true });
    await stage.change('help', {});
    await stage.readMuchLater();
    expect(readFileSync(path('many.yaml'), 'utf8')).toBe(broken);
    expect(readFileSync(path('shop.yaml'), 'utf8')).toContain('suspended: true');
    expect(await exists('help')()).toBe(true);
  });

  test('deletes nothing for an emptied file', async () => {
    write('shop.yaml', text('shop'));
    await stage.read();
    write('shop.yaml', '');
    await stage.readMuchLater();
    expect(faults()).toEqual([['shop.yaml', 'it is empty']]);
    expect(await exists('shop')()).toBe(true);
  });

  test('rejects a change of an immutable field and reports the file', async () => {
    write('shop.yaml', text('shop'));
    await stage.read();
    write('shop.yaml', text('shop', 'account: other'));
    await stage.read();
    expect(faults()[0]![1]).toContain('spec.account: cannot change');
    expect((await stage.get('shop')).spec.account).toBe('main');
  });

  test('keeps the first of two files with one name, whatever other files contain', async () => {
    write('b.yaml', text('shop', 'account: main'));
    await stage.read();
    write('a.yaml', text('shop', 'account: other'));
    write('c.yaml', '%%%');
    write('d.yaml', text('help'));
    await stage.read();
    expect(await exists('help')()).toBe(true);
    expect((await stage.get('shop')).spec.account).toBe('main');
    expect(faults()).toHaveLength(2);
    expect(Object.fromEntries(faults())).toMatchObject({
      'a.yaml': 'default/shop is already defined in b.yaml',
    });
  });

  test('keeps an invalid file in force although another file contains its manifest', async () => {
    write('shop.yaml', text('shop', SUSPENDED));
    await stage.read();
    write('backup.yaml', text('shop'));
    await stage.read();
    write('shop.yaml', '');
    await stage.readMuchLater();
    expect((await stage.get('shop')).spec.suspended).toBe(true);
    expect(Object.fromEntries(faults())).toEqual({
      'shop.yaml': 'it is empty',
      'backup.yaml': 'default/shop is already defined in shop.yaml',
    });
  });

  test('deletes nothing while the folder is missing', async () => {
    write('shop.yaml', text('shop'));
    await stage.read();
    const aside = `${folder.path}-aside`;
    renameSync(folder.path, aside);
    await stage.readMuchLater();
    expect(stage.cluster.checks()['folder']).toContain('ENOENT');
    expect(await exists('shop')()).toBe(true);
    renameSync(aside, folder.path);
    await stage.readMuchLater();
    expect(stage.cluster.checks()['folder']).toBeNull();
    expect(await exists('shop')()).toBe(true);
  });
});

describe('a restart', () => {
  test('keeps identity, generation, status, finalizers and events', async () => {
    await stage.create('shop');
    await stage.change('shop', { suspended: true });
    await hold('shop');
    const { metadata: before } = await stage.get('shop');
    const target = { key: 'default/shop', uid: before.uid };
    await stage.cluster.setStatus(target, { state: 'connected', conditions: [] });
    stage.cluster.recordEvent(target, { type: 'Normal', reason: 'Something', message: 'happened' });
    await restart();
    const body = await stage.get('shop');
    expect(body.metadata).toEqual({ ...before, resourceVersion: expect.any(String) as string });
    expect(Number(body.metadata.resourceVersion)).toBeGreaterThan(Number(before.resourceVersion));
    expect(body.status).toMatchObject({ state: 'connected' });
    expect(stage.cluster.store.entry('default/shop')!.events).toMatchObject([{ reason: 'Something' }]);
  });

  test('imports files changed, added and removed meanwhile', async () => {
    await stage.create('stays');
    await stage.create('goes');
    await stage.stop();
    write('stays.yaml', text('stays', SUSPENDED));
    write('new.yaml', text('new'));
    rmSync(path('goes.yaml'));
    stage = await LocalStage.start(folder.path);
    expect(await exists('new')()).toBe(true);
    expect(await metadata('stays')).toMatchObject({ generation: 2 });
    await stage.readMuchLater();
    expect(await exists('goes')()).toBe(false);
  });

  test('continues a deletion', async () => {
    await stage.create('shop');
    await hold('shop');
    await stage.delete('shop');
    await restart();
    expect((await metadata('shop')).deletionTimestamp).toBeDefined();
    await stage.setFinalizer('shop', false);
    await restart();
    expect(await exists('shop')()).toBe(false);
  });

  test('creates a new instance from a manifest restored during the deletion', async () => {
    await stage.create('shop');
    await hold('shop');
    const { uid } = await metadata('shop');
    await stage.delete('shop');
    write('shop.yaml', text('shop'));
    await stage.readMuchLater();
    expect((await metadata('shop')).deletionTimestamp).toBeDefined();
    await stage.setFinalizer('shop', false);
    await until(exists('shop'), { what: 'a new one is there' });
    const created = await metadata('shop');
    expect(created.uid).not.toBe(uid);
    expect(created.deletionTimestamp).toBeUndefined();
  });
});

describe('a crash between two writes', () => {
  const stored = (name: string) => JSON.parse(readFileSync(state(name), 'utf8')) as Entry;

  test('imports a manifest without a state', async () => {
    await stage.stop();
    write('shop.yaml', text('shop'));
    stage = await LocalStage.start(folder.path);
    expect(await exists('shop')()).toBe(true);
  });

  test('imports a manifest that is newer than its state', async () => {
    await stage.create('shop');
    const before = stored('shop');
    await stage.change('shop', { suspended: true });
    await stage.stop();
    writeFileSync(state('shop'), JSON.stringify(before));
    stage = await LocalStage.start(folder.path);
    await until(async () => (await stage.get('shop')).spec.suspended, { what: 'the change is there' });
    expect(await metadata('shop')).toMatchObject({ generation: 2, uid: before.resource.metadata.uid });
  });

  test('removes the manifest of a resource marked as deleted', async () => {
    await stage.create('shop');
    await hold('shop');
    await stage.stop();
    const entry = stored('shop');
    entry.resource.metadata.deletionTimestamp = new Date().toISOString();
    writeFileSync(state('shop'), JSON.stringify(entry));
    stage = await LocalStage.start(folder.path);
    expect(existsSync(path('shop.yaml'))).toBe(false);
    await stage.setFinalizer('shop', false);
    expect(await exists('shop')()).toBe(false);
  });

  test('fails the start with the name of a corrupt state file', async () => {
    await stage.create('shop');
    await stage.stop();
    const good = readFileSync(state('shop'), 'utf8');
    for (const text of ['x', '{"name": "shop"}']) {
      writeFileSync(state('shop'), text);
      await expect(LocalStage.start(folder.path)).rejects.toThrow('default@shop.json is corrupt');
    }
    writeFileSync(state('shop'), good);
    stage = await LocalStage.start(folder.path);
  });
});

test('refuses a second operator on the same folder', async () => {
  await expect(LocalStage.start(folder.path)).rejects.toThrow(`another operator (pid ${process.pid}) uses`);
});

test('waits for an operator that is stopping', async () => {
  const next = LocalStage.start(folder.path, { lockWaitMs: 60_000 });
  await stage.stop();
  stage = await next;
});
