import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { unpackDebianPackages } from './debian-package.js';

const CACHE = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'gwk/php');
const BIN = join(CACHE, 'root/usr/bin');

const succeeds = (command: string, option: string) => spawnSync(command, [option]).status === 0;

/** Without PHP and apt, which downloads it, its tests are counted as skipped; with CI=true they fail. */
export const hasPhp = succeeds('php', '--version') || succeeds('apt-get', '--version');

/** @returns PHP of the machine, or from the Debian package, unpacked once into the user's cache */
export function findPhp(): { command: string; env: Record<string, string> } {
  if (succeeds('php', '--version')) return { command: 'php', env: {} };
  const unpacked = () => existsSync(BIN) && readdirSync(BIN).find((name) => /^php\d+\.\d+$/.test(name));
  if (!unpacked()) unpackDebianPackages(['php-cli'], CACHE);
  const name = unpacked();
  if (!name) throw new Error('PHP is neither installed nor available from the package manager');
  const library = join(CACHE, `root/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`);
  return { command: join(BIN, name), env: { LD_LIBRARY_PATH: library } };
}
