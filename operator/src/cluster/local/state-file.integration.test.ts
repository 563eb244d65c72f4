import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@gwk/test/support/operator/folder';
import { LocalStage } from '@gwk/test/support/operator/local-stage';

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
/** The operator writes this file before it replaces the other one. */
const unfinished = () => `${path()}.new`;
const names = async () => (await stage.state.list(null)).map(({ metadata }) => metadata.name);

async function restart(): Promise<void> {
  await stage.stop();
  stage = await LocalStage.start(folder.path);
}

describe('a restart', () => {
  test('keeps identity, versions, status and finalizers, and reports every key', async () => {
    await stage.create('shop');
    await stage.change('shop', { suspended: true });
    await stage.setFinalizer('shop', true);
    const { uid } = (await stage.get('shop')).metadata;
    await stage.cluster.setStatus({ key: 'default/shop', uid }, { state: 'connected', conditions: [] });
    const before = await stage.get('shop');
    await restart();
    expect(await stage.get('shop')).toEqual(before);
    expect(stage.changed).toEqual(['default/shop']);
  });

  test('continues a deletion', async () => {
    await stage.create('shop');
    await stage.setFinalizer('shop', true);
    await stage.delete('shop');
    await restart();
    expect((await stage.get('shop')).metadata.deletionTimestamp).toBeDefined();
    await stage.setFinalizer('shop', false);
    await restart();
    expect(await names()).toEqual([]);
  });

  test.each([
    ['half written', '{"instances": [{"apiVers'],
    ['complete', '{"instances": [], "pods": []}'],
    ['empty', ''],
  ])('ignores the file of an interrupted write that is %s', async (_, text) => {
    await stage.create('shop');
    await stage.stop();
    writeFileSync(unfinished(), text);
    stage = await LocalStage.start(folder.path);
    expect(await names()).toEqual(['shop']);
    await stage.create('help');
    await restart();
    expect(await names()).toEqual(['shop', 'help']);
  });

  test.each([
    ['text', 'x'],
    ['half of itself', '{"instances": [{"apiVers'],
    ['another object', '{"name": "shop"}'],
    ['nothing', ''],
  ])('fails and changes nothing if the file contains %s', async (_, text) => {
    await stage.create('shop');
    await stage.stop();
    const good = readFileSync(path(), 'utf8');
    writeFileSync(path(), text);
    await expect(LocalStage.start(folder.path)).rejects.toThrow('instances.json is corrupt');
    expect(readFileSync(path(), 'utf8')).toBe(text);
    writeFileSync(path(), good);
    stage = await LocalStage.start(folder.path);
    expect(await names()).toEqual(['shop']);
  });
});

test('shows nothing of a failed write, fails its readiness check, and recovers', async () => {
  await stage.create('shop');
  mkdirSync(unfinished());
  const failed = [stage.create('a'), stage.change('shop', { suspended: true }), stage.delete('shop')];
  for (const { status } of await Promise.allSettled(failed)) expect(status).toBe('rejected');
  expect(stage.cluster.checks()['instances']).toContain('EISDIR');
  // It writes nothing, so it proves nothing about the file.
  await stage.cluster.deleteResource({ key: 'default/shop', uid: 'another' });
  expect(stage.cluster.checks()['instances']).toContain('EISDIR');
  expect(await names()).toEqual(['shop']);
  expect((await stage.get('shop')).spec.suspended).toBe(false);
  rmdirSync(unfinished());
  await stage.create('a');
  expect(stage.cluster.checks()).toEqual({ instances: null });
  await restart();
  expect(await names()).toEqual(['shop', 'a']);
});

test('writes concurrent changes together, and reports a refused one alone', async () => {
  const wanted = Array.from({ length: 50 }, (_, i) => `n${i}`);
  const results = await Promise.allSettled([...wanted, 'n0'].map((name) => stage.create(name)));
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  await restart();
  expect((await names()).sort()).toEqual(wanted.sort());
});

test('refuses a second operator on the same folder', async () => {
  await expect(LocalStage.start(folder.path)).rejects.toThrow(`another operator (pid ${process.pid}) uses`);
});

test('waits for an operator that is stopping', async () => {
  const next = LocalStage.start(folder.path, 60_000);
  await stage.stop();
  stage = await next;
});
