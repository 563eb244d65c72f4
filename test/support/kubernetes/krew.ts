import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const VERSION = 'v0.4.3';
const FOLDER = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'gwk', `krew-${VERSION}`);

/** krew, built once from its Go module. @throws Error if the build fails */
export function buildKrew(): string {
  const path = join(FOLDER, 'krew');
  if (existsSync(path)) return path;
  mkdirSync(FOLDER, { recursive: true });
  const env = { ...process.env, GOBIN: FOLDER, CGO_ENABLED: '0' };
  const module = `sigs.k8s.io/krew/cmd/krew@${VERSION}`;
  const done = spawnSync('go', ['install', '-trimpath', module], { env, encoding: 'utf8' });
  if (done.status !== 0)
    throw new Error(`krew cannot be built: ${done.error?.message ?? done.stderr.slice(-500)}`);
  return path;
}
