// Installs the packages. It runs on the installed Node (20 or later) and imports no package. All later scripts run on the
// Node 24 package.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, symlinkSync } from 'node:fs';

const OLDEST = 20;
const WANTED = 24;

function fail(message) {
  process.stderr.write(`\ninstall: ${message}\n`);
  process.exit(1);
}

function npm(args) {
  const done = spawnSync('npm', args, { stdio: 'inherit' });
  if (done.error) fail(`cannot start npm (${done.error.code}). Install Node ${OLDEST} or later with npm.`);
  if (done.status !== 0) fail(`npm ${args.join(' ')} failed; see above`);
}

/**
 * Links the Node package into node_modules/.bin, so that every script uses it. npm 10 removes that link, because the
 * packages for other platforms have the same command.
 */
function linkNode() {
  const name = `node-${process.platform}-${process.arch}`;
  const link = 'node_modules/.bin/node';
  rmSync(link, { force: true });
  if (existsSync(`node_modules/${name}/bin/node`)) return symlinkSync(`../${name}/bin/node`, link);
  if (major < WANTED) fail(`There is no package ${name}. Install Node ${WANTED} or later yourself.`);
}

/** Lets Git run the hooks of this repository, unless it runs others. An archive has no .git, and git may be missing. */
function setHooks() {
  if (!existsSync('.git')) return;
  const isUnset = spawnSync('git', ['config', 'core.hooksPath']).status === 1;
  if (isUnset) spawnSync('git', ['config', 'core.hooksPath', '.githooks'], { stdio: 'inherit' });
}

const major = Number(process.versions.node.split('.')[0]);
if (major < OLDEST) {
  fail(`Node ${process.versions.node} is too old. Install Node ${OLDEST} or later and retry.`);
}

const began = Date.now();
process.stdout.write('install: installing packages (one to two minutes the first time)\n');
npm(['ci', '--no-progress', '--loglevel=error']);
npm(['run', '--silent', 'postdeps', '--', '--loglevel=error']);
linkNode();
setHooks();
process.stdout.write(`install: done in ${Math.round((Date.now() - began) / 1000)} s\n`);
