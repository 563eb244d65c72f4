import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const GWK = fileURLToPath(new URL('../../../bin/gwk.js', import.meta.url));

/** Prints, as the engine exits, the packages that were loaded. */
const OBSERVER = `
  import { registerHooks } from 'node:module';
  const packages = new Set();
  registerHooks({
    load(url, context, next) {
      const inPackages = url.split('/node_modules/').slice(1).at(-1);
      const inTree = /\\/(core|api|decoder|operator|engine-pod|local|test)\\/(dist|src)\\//.exec(url);
      if (inPackages) packages.add(inPackages.startsWith('@') ? inPackages.split('/').slice(0, 2).join('/') : inPackages.split('/')[0]);
      else if (inTree) packages.add('@gwk/' + inTree[1]);
      return next(url, context);
    },
  });
  const { execve } = process;
  process.execve = (...program) => {
    if (process.moduleLoadList.some((name) => name.includes('undici'))) packages.add("Node's undici");
    process.stderr.write('LOADED ' + JSON.stringify([...packages].sort()));
    execve.apply(process, program);
  };
`;

/** The packages loaded by an engine that waits for its lease, with all modules of a sandbox imported. */
function loadedByEngine(): string[] {
  const result = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(OBSERVER)}`, GWK, 'engine'],
    {
      input: '', // the parent has already exited, so it stops at once
      encoding: 'utf8',
      env: {
        GWK_EXIT_WITH_PARENT: 'on',
        GWK_ENGINE_INTERNAL_URL: 'http://127.0.0.1:9',
        GWK_ENGINE_TOKEN: 'a-token',
        GWK_ENGINE_POD: 'pod-1',
        GWK_ENGINE_PORT: '0',
      },
    },
  );
  return JSON.parse(result.stderr.split('LOADED ')[1] ?? '[]') as string[];
}

/**
 * One engine runs for each instance, so each package is paid for once an instance. Measured: zod 6 MB, node-redis
 * 11 MB, all of prom-client 4 MB (its parts 1 MB), uuid 1 MB, undici (part of Node, see core's node-http) 13 MB.
 * ws takes 6 MB in a bare process; Baileys loads it too, so only a sandbox pays for it.
 */
test('an engine loads these packages and no others', () => {
  expect(loadedByEngine()).toEqual([
    '@gwk/core',
    '@gwk/engine-pod',
    '@pinojs/redact',
    'atomic-sleep',
    'commander',
    'on-exit-leak-free',
    'pino',
    'pino-std-serializers',
    'prom-client',
    'quick-format-unescaped',
    'safe-stable-stringify',
    'sonic-boom',
    'thread-stream',
    'ws',
  ]);
});

/** The files that an engine on the real network loads in addition. */
function loadedByDriver(): string[] {
  const script = `
    import { registerHooks } from 'node:module';
    const files = [];
    registerHooks({ load: (url, context, next) => (files.push(url.split('/node_modules/').at(-1)), next(url, context)) });
    await import('${new URL('../../../engine-pod/dist/driver/baileys/patches/install.js', import.meta.url).href}');
    await import('${new URL('../../../engine-pod/dist/driver/baileys/driver.js', import.meta.url).href}');
    if (process.moduleLoadList.some((name) => name.includes('undici'))) files.push("Node's undici");
    process.stdout.write(JSON.stringify(files));
  `;
  const result = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  return JSON.parse(result.stdout) as string[];
}

test('loads no part of Baileys that an engine does not use', () => {
  const loaded = loadedByDriver();
  expect(loaded.filter((file) => file.startsWith('@whiskeysockets/baileys/')).length).toBeGreaterThan(50);
  const unwanted =
    /WAProto\/index|lib\/WAM\/constants|whatsapp-rust-bridge|cacheable|keyv|baileys\/node_modules\/pino|sharp|jimp|link-preview-js|music-metadata|undici|^zod\//;
  expect(loaded.filter((file) => unwanted.test(file))).toEqual([]);
});
