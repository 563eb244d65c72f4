// Makes a release on this machine: `make release-dry-run`. With nodes, it is installed in a cluster too and upgraded to.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRegistry } from '@gwk/test/support/images/registry';
import { whyNoNodes } from '@gwk/test/support/kubernetes/nodes/programs';
import { demandVersion } from './packages.ts';
import { refuse } from './refuse.ts';
import { makeRelease, say } from './rehearsal.ts';
import { prepareTools, ROOT } from './tools.ts';

/** Names of the scenarios of a release (test/e2e/scenarios.ts). */
const SCENARIOS = 'release';

demandVersion(process.argv[2] ?? '');
const why = whyNoNodes();
if (why === null) {
  const env = { ...process.env, ONLY: SCENARIOS, SIGNED: 'on' };
  const done = spawnSync(process.execPath, ['test/dist/e2e/main.js'], { cwd: ROOT, env, stdio: 'inherit' });
  process.exitCode = done.status ?? 1;
} else {
  say(`not installed in a cluster, and no upgrade: ${why}`);
  await rehearseAlone();
}

async function rehearseAlone(): Promise<void> {
  process.env['COSIGN_PASSWORD'] = '';
  await prepareTools({ needsCosign: true });
  const folder = mkdtempSync(join(tmpdir(), 'gwk-release-'));
  const [blobs, work] = [join(folder, 'registry'), join(folder, 'work')];
  mkdirSync(work);
  try {
    const { host, stop } = await startRegistry(blobs);
    try {
      await makeRelease({ host, blobs, work });
      refuse({ host, blobs, work });
    } finally {
      stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
