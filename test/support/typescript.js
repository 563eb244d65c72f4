// Lets Node import the TypeScript of this repository, because jest runs test files with Node's module loader. Records
// uncaught errors.
import { transformSync } from '@swc/core';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../', import.meta.url).href;
/** Source folders of workspaces other than `<name>/src`. */
const SOURCES = { test: 'test', network: 'test/network/src' };
const WORKSPACE = /^@gwk\/([^/]+)\/(.+)$/;
const SWC = {
  swcrc: false,
  jsc: { parser: { syntax: 'typescript' }, target: 'es2024' },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};

const isSource = (url) => url.startsWith(ROOT) && !url.includes('/node_modules/') && !url.includes('/dist/');

/** @returns the URL of the TypeScript source; undefined for everything else */
function sourceOf(specifier, parent) {
  const [, workspace, path] = WORKSPACE.exec(specifier) ?? [];
  if (workspace !== undefined) return `${ROOT}${SOURCES[workspace] ?? `${workspace}/src`}/${path}.ts`;
  if (!/^\.{1,2}\/.*\.js$/.test(specifier) || !isSource(parent)) return undefined;
  const url = new URL(specifier.replace(/\.js$/, '.ts'), parent);
  return existsSync(url) ? url.href : undefined;
}

/** A worker that dies after its last test has no other way to report the error. */
const { GWK_TEST_REPORT: report } = process.env;
if (report !== undefined) {
  process.on('uncaughtExceptionMonitor', (error) => {
    appendFileSync(`${report}.errors`, `${String(error?.stack ?? error).replaceAll('\n', ' ')}\n`);
  });
}

registerHooks({
  resolve(specifier, context, next) {
    // Programs that a test starts in this process from dist/ must import each other from dist/.
    if (context.parentURL !== undefined && !isSource(context.parentURL)) return next(specifier, context);
    const url = sourceOf(specifier, context.parentURL ?? ROOT);
    return url === undefined ? next(specifier, context) : { url, format: 'module', shortCircuit: true };
  },
  load(url, context, next) {
    const [file] = url.split('?');
    if (!file.endsWith('.ts') || !isSource(file)) return next(url, context);
    const filename = fileURLToPath(file);
    const { code } = transformSync(readFileSync(filename, 'utf8'), { ...SWC, filename });
    return { format: 'module', source: code, shortCircuit: true };
  },
});
