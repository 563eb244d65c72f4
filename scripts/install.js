// Installs the packages. Runs on the Node that the machine has (20 or later), and imports none of them: everything
// after it runs on the Node 24 that comes with them.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, symlinkSync } from 'node:fs';

const OLDEST = 20;
const WANTED = 24;

const cures = [
  [/E404|ETARGET|notarget/i, 'A package is not at the configured registry. See: npm config get registry'],
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET|network/i,
    'The package registry cannot be reached. Check the network and "npm config get registry", then try again.',
  ],
  [
    /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/i,
    'The registry\'s certificate is not trusted. Set "npm config set cafile".',
  ],
  [
    /EACCES|EPERM/i,
    'Some files here belong to another user. Remove node_modules as that user, or change the owner.',
  ],
  [/ENOSPC/i, 'The disk is full.'],
  [
    /EUSAGE|in sync/i,
    'package.json and package-lock.json do not agree. Run npm install, and commit the lock file.',
  ],
];

function fail(message) {
  process.stderr.write(`\ninstall: ${message}\n`);
  process.exit(1);
}

function npm(args) {
  const done = spawnSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'inherit', 'pipe'] });
  if (done.error)
    fail(`npm cannot be started (${done.error.code}). Install Node ${OLDEST} or later together with npm.`);
  if (done.status === 0) return;
  const log = done.stderr.trim().split('\n').slice(-20).join('\n');
  const cure = cures.find(([pattern]) => pattern.test(log))?.[1] ?? 'See the lines above.';
  fail(`npm ${args.join(' ')} failed:\n${log}\n\n${cure}`);
}

/**
 * Puts the Node that came as a package first on the path of every script. npm 10 does not: there are packages of it
 * for other machines too, with the same command, and in passing over those it removes the link of this one.
 */
function linkNode() {
  const name = `node-${process.platform}-${process.arch}`;
  const link = 'node_modules/.bin/node';
  rmSync(link, { force: true });
  if (existsSync(`node_modules/${name}/bin/node`)) return symlinkSync(`../${name}/bin/node`, link);
  if (major < WANTED) fail(`There is no package ${name}. Install Node ${WANTED} or later yourself.`);
}

const major = Number(process.versions.node.split('.')[0]);
if (major < OLDEST) {
  fail(`Node ${process.versions.node} is too old. Install Node ${OLDEST} or later and try again.`);
}

const began = Date.now();
process.stdout.write('install: packages (a minute or two the first time)\n');
npm(['ci', '--no-progress', '--loglevel=error']);
npm(['run', '--silent', 'postdeps', '--', '--loglevel=error']);
linkNode();
process.stdout.write(`install: done in ${Math.round((Date.now() - began) / 1000)} s\n`);
