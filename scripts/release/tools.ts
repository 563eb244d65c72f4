import { execFileSync } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureHelm } from '@gwk/test/support/chart/helm-binary';
import { prepareCrane } from '@gwk/test/support/images/registry';
import { buildOnce, goVersion, type GoModule } from '@gwk/test/support/kubernetes/go-modules';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const describeTool = (name: string, version: string, path: string): GoModule => ({
  name,
  place: name,
  sources: join(ROOT, 'scripts/release/go'),
  files: [],
  version,
  builds: [{ args: ['-ldflags=-s -w'], output: name, packages: [path] }],
});

const ACTIONLINT = describeTool('actionlint', 'v1.7.12', 'github.com/rhysd/actionlint/cmd/actionlint');
const COSIGN = describeTool('cosign', 'v3.1.3', 'github.com/sigstore/cosign/v3/cmd/cosign');

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** actionlint, built once into the user's cache. Null without Go. */
export async function findActionlint(): Promise<string | null> {
  return goVersion() === null ? null : join(await buildOnce(ACTIONLINT, say), 'actionlint');
}

/**
 * Puts crane and Helm on the path of this process, and cosign if something is signed or verified. They are built once into
 * the user's cache; cosign takes minutes.
 */
export async function prepareTools({ needsCosign }: { needsCosign: boolean }): Promise<void> {
  const found = await ensureHelm(say);
  if ('missing' in found) throw new Error(found.missing);
  await prepareCrane(say);
  const folders = [dirname(found.helm), ...(needsCosign ? [await buildOnce(COSIGN, say)] : [])];
  process.env['PATH'] = [...folders, process.env['PATH']].join(delimiter);
}

/** Runs a program and returns its output. Its messages appear in the error only. */
export function run(
  command: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
) {
  return execFileSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 28, stdio: 'pipe', ...options });
}
