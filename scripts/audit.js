// Finds known vulnerabilities: of packages (npm audit), and of images from severity `high` on (trivy or grype, if
// installed). Scans the existing archives, so run `make images` first. Exit codes:
//   0  everything was scanned, and nothing was found
//   1  something was found
//   3  nothing was found, but something could not be scanned
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
    ['run-time packages (npm audit)', judgeNpm(audit('--omit=dev').stdout)],
    ['all packages, with tools and tests (npm audit)', judgeNpm(audit().stdout)],
  ];
}

/**
 * Arguments of the scanners for an OCI layout. They report from `high` on. Images contain no system package database,
 * so scanners see npm packages, but not Node, libc, the shell or ffmpeg.
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
    return [['images (trivy or grype)', { result: 'not scanned', why }]];
  }
  return Object.values(IMAGES).map(({ title }) => [`${title}.tar (${scanner})`, look(scanner, title)]);
}

function look(scanner, title) {
  const archive = join(FOLDER, `${title}.tar`);
  if (!existsSync(archive)) return { result: 'not scanned', why: 'not in .images; run make images' };
  const layout = mkdtempSync(join(tmpdir(), 'gwk-audit-'));
  try {
    if (run('tar', ['-xf', archive, '-C', layout]).status !== 0)
      return { result: 'not scanned', why: 'cannot unpack the archive' };
    return judgeScan(run(scanner, SCANNERS[scanner](layout)));
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}

const results = [...npm(), ...images()];
for (const [subject, { result, why }] of results) {
  console.log(`${result.padEnd(14)} ${subject}${why ? `\n  ${why.replaceAll('\n', '\n  ')}` : ''}`);
}
const { code, line } = sumUp(results.map(([, { result }]) => result));
console.log(line);
process.exitCode = code;
