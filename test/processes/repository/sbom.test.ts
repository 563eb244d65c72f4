import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../support/program.js';

interface Component {
  type: string;
  name: string;
  purl?: string;
  licenses?: ({ expression: string } | { license: { id?: string; name?: string } })[];
  hashes?: { alg: string; content: string }[];
}

/** Output of `make sbom` for two images. */
describe('the bill of materials', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'gwk-sbom-test-'));
    const args = ['images/sbom.js', '--output', folder, 'api', 'worker'];
    const done = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
    if (done.status !== 0) throw new Error(done.stderr);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const packagesOf = (image: string): Component[] => {
    const text = readFileSync(join(folder, `${image}.cdx.json`), 'utf8');
    const { components } = JSON.parse(text) as { components: Component[] };
    return components.filter(({ purl }) => purl?.startsWith('pkg:npm/'));
  };

  test.each(['gwk-api', 'gwk-worker'])('each package of %s has a licence and a hash', (image) => {
    const packages = packagesOf(image);
    expect(packages.length).toBeGreaterThan(50);
    const lacking = packages.filter(({ licenses, hashes }) => licenses?.length !== 1 || hashes?.length !== 1);
    expect(lacking.map(({ name }) => name)).toEqual([]);
    for (const { hashes } of packages) expect(hashes![0]!.content).toMatch(/^[0-9a-f]{128}$/);
  });

  test('converts a licence text of a package to an SPDX expression', () => {
    const busboy = packagesOf('gwk-worker').find(({ name }) => name === 'busboy');
    expect(busboy?.licenses).toEqual([{ expression: 'MIT' }]);
  });
});
