import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { findBinaries } from '../support/kubernetes/binaries.js';
import type { TestCluster } from '../support/kubernetes/test-cluster.js';

/** Runs kubectl like a user. @throws Error with its output if it fails */
export function kubectl(
  { plane }: TestCluster,
  args: string[],
  input?: string,
  more: NodeJS.ProcessEnv = {},
): string {
  const found = findBinaries();
  if ('missing' in found) throw new Error(found.missing);
  const done = spawnSync(join(found.binaries.folder, 'kubectl'), args, {
    encoding: 'utf8',
    env: { ...process.env, ...more, KUBECONFIG: plane.kubeconfig, HOME: plane.folder },
    ...(input !== undefined && { input }),
  });
  if (done.status !== 0) throw new Error(`kubectl ${args.join(' ')}: ${done.stderr || done.stdout}`);
  return done.stdout;
}

/** Runs a command of the documentation as printed, with kubectl on the path. @throws Error with its output */
export function shell({ plane }: TestCluster, command: string, more: NodeJS.ProcessEnv = {}): string {
  const found = findBinaries();
  if ('missing' in found) throw new Error(found.missing);
  const { folder } = found.binaries;
  const done = spawnSync('bash', ['-euo', 'pipefail', '-c', command], {
    encoding: 'utf8',
    env: {
      ...more,
      PATH: `${folder}:${more['PATH'] ?? process.env['PATH']}`,
      KUBECONFIG: plane.kubeconfig,
      HOME: plane.folder,
    },
  });
  if (done.status !== 0) throw new Error(`${command}: ${done.stderr || done.stdout}`);
  return done.stdout;
}
