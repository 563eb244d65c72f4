// Known vulnerabilities: of packages (npm audit) and, from `high` on, of images (trivy or grype, where one is installed and
// the archives of `make images` are there, which are looked at as they are: make them anew first).
//   0  all of it was looked at, and nothing was found
//   1  something was found
//   3  nothing was found in what was looked at, but something could not be looked at: that is no success
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { IMAGES } from '../images/programs.js';
import { judgeNpm, judgeScan, sumUp } from './audit/judge.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = join(ROOT, '.images');
const LIMIT_MS = 180_000;

function run(command, args) {
  return spawnSync(command, args, { cwd: ROOT, encoding: 'utf8', timeout: LIMIT_MS, maxBuffer: 1 << 28 });
}

function npm() {
  const audit = (...more) => run('npm', ['audit', '--json', ...more]);
  return [
    ['packages that programs load (npm audit)', judgeNpm(audit('--omit=dev').stdout)],
    ['packages of tools and tests (npm audit)', judgeNpm(audit().stdout)],
  ];
}

/**
 * How each is given an image: the folder of an OCI layout, which both read. Below `high` neither reports. An image has no
 * database of system packages: what they see is its packages of npm, not Node, libc, a shell or ffmpeg.
 */
const SCANNERS = {
  trivy: (layout) => [
    'image',
    '--quiet',
    '--scanners',
    'vuln',
    '--exit-code',
    '1',
    '--severity',
    'HIGH,CRITICAL',
    '--input',
    layout,
  ],
  grype: (layout) => ['--quiet', '--fail-on', 'high', `oci-dir:${layout}`],
};

function images() {
  const scanner = Object.keys(SCANNERS).find((name) => run(name, ['--version']).status === 0);
  if (!scanner) {
    const why = 'neither trivy nor grype is installed';
    return [['images (trivy or grype)', { verdict: 'not reached', why }]];
  }
  return Object.values(IMAGES).map(({ title }) => [`${title}.tar (${scanner})`, look(scanner, title)]);
}

function look(scanner, title) {
  const archive = join(FOLDER, `${title}.tar`);
  if (!existsSync(archive)) return { verdict: 'not reached', why: 'it is not in .images: make images' };
  const layout = mkdtempSync(join(tmpdir(), 'gwk-audit-'));
  try {
    if (run('tar', ['-xf', archive, '-C', layout]).status !== 0)
      return { verdict: 'not reached', why: 'its archive cannot be unpacked' };
    return judgeScan(run(scanner, SCANNERS[scanner](layout)));
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}

const results = [...npm(), ...images()];
for (const [subject, { verdict, why }] of results) {
  console.log(`${verdict.padEnd(14)} ${subject}${why ? `\n  ${why.replaceAll('\n', '\n  ')}` : ''}`);
}
const { code, line } = sumUp(results.map(([, { verdict }]) => verdict));
console.log(line);
process.exitCode = code;
