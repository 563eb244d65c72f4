// Builds the program as one file, dist/gwk.cjs. With the word `executable` also the npm package and executables with Node
// inside. `linux-arm64=<path of its node>` names a platform to build; without one, all installed Nodes of Linux are used.
import { spawnSync, execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
  readFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inject } from 'postject';
import { rolldown } from 'rolldown';

const DIST = join(import.meta.dirname, 'dist');
const BUNDLE = join(DIST, 'gwk.cjs');
/** A mark in Node itself, which says that a program follows. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

async function bundle() {
  const build = await rolldown({ input: join(DIST, 'main.js'), platform: 'node' });
  const { output } = await build.write({ file: BUNDLE, format: 'cjs', minify: true, codeSplitting: false });
  chmodSync(BUNDLE, 0o755);
  // A test reads this list: the program may not contain the engine and its libraries.
  const modules = output.flatMap((chunk) => Object.keys(chunk.modules ?? {}));
  writeFileSync(join(DIST, 'modules.json'), JSON.stringify(modules.sort(), null, 2));
  const packages = modules.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []);
  writeFileSync(join(DIST, 'licences.txt'), [...new Set(packages)].map(readLicence).join('\n'));
}

/** Name, version and licence of a package in the program, with the text of the licence if the package has it. */
function readLicence(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8');
  return `${name} ${version} (${license})\n\n${text}\n`;
}

/** Writes the npm package. The program contains its packages, so the manifest names none. */
function writePackage() {
  const folder = join(DIST, 'package');
  const path = join(import.meta.dirname, 'package.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8'));
  for (const field of ['private', 'scripts', 'dependencies', 'devDependencies']) delete manifest[field];
  mkdirSync(join(folder, 'dist'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
  for (const file of manifest.files) copyFileSync(join(import.meta.dirname, file), join(folder, file));
}

function findNode(platform) {
  try {
    const manifest = createRequire(import.meta.url).resolve(`node-${platform}/package.json`);
    const path = join(dirname(manifest), 'bin/node');
    return existsSync(path) ? path : null;
  } catch {
    return null;
  }
}

async function buildExecutable(platform, node) {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-executable-'));
  try {
    const blob = join(folder, 'blob');
    const settings = { main: BUNDLE, output: blob, disableExperimentalSEAWarning: true };
    writeFileSync(join(folder, 'sea.json'), JSON.stringify(settings));
    execFileSync(process.execPath, ['--experimental-sea-config', join(folder, 'sea.json')], {
      stdio: 'pipe',
    });
    const file = join(folder, 'gwk');
    copyFileSync(node, file);
    chmodSync(file, 0o755);
    // Without symbols the download is a third smaller. Programs for another processor stay as they are.
    spawnSync('strip', [file]);
    await inject(file, 'NODE_SEA_BLOB', readFileSync(blob), { sentinelFuse: FUSE });
    copyFileSync(file, join(DIST, `gwk-${platform}`));
    console.log(`cli: wrote cli/dist/gwk-${platform}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await bundle();
const [word, ...given] = process.argv.slice(2);
if (word === 'executable') {
  for (const file of globSync('{package,gwk-linux-*}', { cwd: DIST }))
    rmSync(join(DIST, file), { recursive: true });
  writePackage();
  for (const platform of ['linux-x64', 'linux-arm64']) {
    const named = given.find((one) => one.startsWith(`${platform}=`))?.slice(platform.length + 1);
    const node = given.length > 0 ? named : findNode(platform);
    if (node) await buildExecutable(platform, node);
    else console.log(`cli: no executable for ${platform}, because its Node is not installed`);
  }
}
