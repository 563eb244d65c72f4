import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/program.js';

interface Component {
  type: string;
  name: string;
  purl?: string;
  licenses?: ({ expression: string } | { license: { id?: string; name?: string } })[];
  hashes?: { alg: string; content: string }[];
}

/** The command of `make sbom`. */
function listComponents(workspace: string): Component[] {
  const args = ['sbom', '--sbom-format=cyclonedx', '--omit=dev', '-w', 'core', '-w', workspace];
  expect(readFileSync(join(ROOT, 'Makefile'), 'utf8')).toContain(
    `npm ${args.join(' ').replace(workspace, () => '$$workspace')}`,
  );
  const done = spawnSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (done.status !== 0) throw new Error(done.stderr);
  const { components } = JSON.parse(done.stdout) as { components: Component[] };
  return components.filter(({ name }) => !['core', workspace].includes(name));
}

test.each(['api', 'decoder', 'operator', 'engine-pod'])(
  'each package of %s has a licence and a hash',
  (workspace) => {
    const packages = listComponents(workspace);
    expect(packages.length).toBeGreaterThan(50);
    const lacking = packages.filter(({ licenses, hashes }) => licenses?.length !== 1 || hashes?.length !== 1);
    expect(lacking.map(({ name }) => name)).toEqual([]);
    for (const { hashes } of packages) expect(hashes![0]!.content).toMatch(/^[0-9a-f]{128}$/);
  },
);

test('converts a licence text of a package to an SPDX expression', () => {
  const busboy = listComponents('api').find(({ name }) => name === 'busboy');
  expect(busboy?.licenses).toEqual([{ license: { id: 'MIT' } }]);
});
