import { unpackDebianPackages } from '../debian-package.js';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** Prometheus and promtool: of the machine, or from the Debian package, unpacked once into the user's cache. */
export interface PrometheusPrograms {
  prometheus: string;
  promtool: string;
}

const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gwk/prometheus');
const MISSING =
  'Prometheus is neither installed nor available from the package manager: install prometheus with promtool';

let found: PrometheusPrograms | undefined;

/** @returns the reason if they are not available */
export function prometheusPrograms(): PrometheusPrograms | string {
  found ??= inFolders((process.env['PATH'] ?? '').split(delimiter)) ?? unpacked();
  if (!found && unpackDebianPackages(['prometheus'], CACHE, { dependencies: false })) found = unpacked();
  return found ?? MISSING;
}

const unpacked = (): PrometheusPrograms | undefined => inFolders([join(CACHE, 'root/usr/bin')]);

function inFolders(folders: string[]): PrometheusPrograms | undefined {
  for (const folder of folders) {
    const programs = { prometheus: join(folder, 'prometheus'), promtool: join(folder, 'promtool') };
    if (Object.values(programs).every((file) => existsSync(file) && runs(file))) return programs;
  }
  return undefined;
}

const runs = (file: string): boolean => spawnSync(file, ['--version'], { stdio: 'ignore' }).status === 0;

/**
 * Tests with the real Prometheus. Without it they are counted as skipped, with the reason in their name. With CI=true
 * they fail.
 */
export function describeWithPrometheus(title: string, tests: () => void): void {
  const programs = prometheusPrograms();
  if (typeof programs !== 'string' || process.env['CI'] === 'true') return describe(title, tests);
  describe.skip(`${title} (${programs})`, tests);
}

/** @throws Error if they are not available */
export function neededPrograms(): PrometheusPrograms {
  const programs = prometheusPrograms();
  if (typeof programs === 'string') throw new Error(programs);
  return programs;
}
