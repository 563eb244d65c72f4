import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCgroup, removeCgroup } from './machine.js';

/**
 * Tries the privileged operations of nodes on a small scale. Root in a container often lacks some of them, and a
 * kubelet reports that late and unclearly.
 */
const PROBE = `gwk-probe-${process.pid}`;

/** @returns the missing permissions; null if none is missing */
export function forbiddenHere(): string | null {
  const folder = mkdtempSync(join(tmpdir(), `${PROBE}-`));
  try {
    const trials: [what: string, trial: () => boolean][] = [
      ['create control groups', cgroups],
      ['create a network bridge', bridge],
      ['change iptables rules', rules],
      [
        'create namespaces',
        () => works('unshare', '--mount', '--pid', '--net', '--ipc', '--uts', '--fork', 'true'),
      ],
      ['mount overlays', () => overlay(folder)],
    ];
    const forbidden = trials.filter(([, trial]) => !trial()).map(([what]) => what);
    return forbidden.length === 0 ? null : `root may not here: ${forbidden.join(', ')}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const works = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0;

function cgroups(): boolean {
  try {
    makeCgroup(PROBE);
    return true;
  } catch {
    return false;
  } finally {
    removeCgroup(PROBE);
  }
}

/** Link names have at most 15 characters. */
function bridge(): boolean {
  const name = `gwkp${process.pid}`;
  const made = works('ip', 'link', 'add', name, 'type', 'bridge');
  return made && works('ip', 'link', 'delete', name);
}

function rules(): boolean {
  const chain = ['-t', 'nat', '-N', PROBE];
  return works('iptables', ...chain) && works('iptables', '-t', 'nat', '-X', PROBE);
}

function overlay(folder: string): boolean {
  const place = (name: string): string => join(folder, name);
  for (const name of ['lower', 'upper', 'work', 'whole']) mkdirSync(place(name));
  const layers = `lowerdir=${place('lower')},upperdir=${place('upper')},workdir=${place('work')}`;
  const mounted = works('mount', '-t', 'overlay', 'overlay', '-o', layers, place('whole'));
  return mounted && works('umount', place('whole'));
}
