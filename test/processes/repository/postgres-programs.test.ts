import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPostgres, type Places } from '../../support/servers/postgres-programs.js';

/** Where the dump tests look for Postgres programs. The result decides whether they run, are skipped or fail. */
describe('the Postgres programs for dump tests', () => {
  let folder: string;
  let places: Places;
  let fetched: number;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gwk-programs-'));
    fetched = 0;
    const [path, system, cache] = ['path', 'system', 'cache'].map((name) => join(folder, name));
    places = { path: path!, system: system!, cache: cache!, fetch: () => (fetched++, false) };
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const put = (into: string, versions: Partial<Record<string, string>> = {}): void => {
    mkdirSync(into, { recursive: true });
    for (const name of ['initdb', 'postgres', 'pg_dump', 'pg_restore', 'createdb', 'psql']) {
      const file = join(into, name);
      writeFileSync(file, `#!/bin/sh\necho "${name} (PostgreSQL) ${versions[name] ?? '17.2'}"\n`);
      chmodSync(file, 0o755);
    }
  };
  const folderFound = () => {
    const found = findPostgres(places);
    return typeof found === 'string' ? found : found.folder;
  };

  test('returns a reason if nothing is installed and nothing can be fetched', () => {
    expect(folderFound()).toMatch(/neither installed nor available/);
    expect(fetched).toBe(1);
  });

  test('uses programs in PATH without fetching', () => {
    put(places.path);
    expect([folderFound(), fetched]).toEqual([places.path, 0]);
  });

  test('finds the programs of Debian, whose server is not in PATH', () => {
    const bin = join(places.system, '17/bin');
    put(bin);
    expect([folderFound(), fetched]).toEqual([bin, 0]);
  });

  test('ignores programs of different versions', () => {
    put(places.path, { pg_dump: '15.1' });
    expect(folderFound()).toMatch(/neither installed/);
  });

  test('finds fetched programs, also in the next run', () => {
    const bin = join(places.cache, 'root/usr/lib/postgresql/17/bin');
    places.fetch = () => (fetched++, put(bin), true);
    expect([folderFound(), folderFound(), fetched]).toEqual([bin, bin, 1]);
  });
});
