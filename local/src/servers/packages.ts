import { spawnSync } from 'node:child_process';

export function findOnPath(name: string): string | undefined {
  const { stdout } = spawnSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
  return stdout.trim() || undefined;
}

/** Installs a package of Debian or Ubuntu. Only root can. */
export function installPackage(name: string, log?: (line: string) => void): void {
  if (process.getuid?.() !== 0 || findOnPath('apt-get') === undefined) return;
  log?.(`installing the package ${name} (once)`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (args: string[]) => spawnSync('apt-get', args, { stdio: 'ignore', env }).status === 0;
  const install = ['install', '-y', '-q', '--no-install-recommends', name];
  // The package lists may be missing or outdated, so the first attempt may fail.
  if (!apt(install) && apt(['update', '-q'])) apt(install);
}
