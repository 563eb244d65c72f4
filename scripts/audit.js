// Known vulnerabilities: of packages (npm audit) and of images (trivy or grype, where one is installed and the archives
// of `make images` are there).
//   0  all of it was looked at, and nothing was found
//   1  something was found
//   3  nothing was found in what was looked at, but something could not be looked at: that is no success
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { judgeNpm, sumUp } from './audit/judge.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const IMAGES = join(ROOT, '.images');
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

const SCANNERS = {
  trivy: (archive) => [
    'image',
    '--quiet',
    '--exit-code',
    '1',
    '--severity',
    'HIGH,CRITICAL',
    '--input',
    archive,
  ],
  grype: (archive) => ['--quiet', '--fail-on', 'high', `docker-archive:${archive}`],
};

function images() {
  const subject = 'images (trivy or grype)';
  const scanner = Object.keys(SCANNERS).find((name) => run(name, ['--version']).status === 0);
  if (!scanner) return [[subject, { verdict: 'not reached', why: 'neither trivy nor grype is installed' }]];
  const archives = existsSync(IMAGES) ? readdirSync(IMAGES).filter((name) => name.endsWith('.tar')) : [];
  if (archives.length === 0) {
    return [[subject, { verdict: 'not reached', why: 'there are no archives in .images: make images' }]];
  }
  return archives.map((name) => {
    const done = run(scanner, SCANNERS[scanner](join(IMAGES, name)));
    const said = `${done.stdout ?? ''}${done.stderr ?? ''}`.trim();
    // Both end with 1 for faults of their own too: only what lists a vulnerability has found one.
    if (done.status === 0) return [name, { verdict: 'nothing found' }];
    if (/CVE-|GHSA-/.test(said)) return [name, { verdict: 'found', why: said }];
    return [name, { verdict: 'not reached', why: said.split('\n').at(-1) ?? '' }];
  });
}

const results = [...npm(), ...images()];
for (const [subject, { verdict, why }] of results) {
  console.log(`${verdict.padEnd(14)} ${subject}${why ? `\n  ${why.replaceAll('\n', '\n  ')}` : ''}`);
}
const { code, line } = sumUp(results.map(([, { verdict }]) => verdict));
console.log(line);
process.exitCode = code;
