import { readFileSync } from 'node:fs';
import { residentMemory } from '../../support/processes.js';
import { pause } from '../../support/wait.js';
import { replaceEngine, type Stage } from './stage.js';

const MEGABYTE = 1024 * 1024;
const TICKS = 100;
/** Longer than the idle time after which an engine releases memory. */
const IDLE_MS = 15_000;

export const megabytes = (pid: number): number => residentMemory(pid) / MEGABYTE;

/** Private part of the resident memory. The rest are file pages that all engines of a machine share. */
export function ownMegabytes(pid: number): number {
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}

export interface Start {
  connectedMs: number;
  idle: number;
  own: number;
}

/** Measures the time from the start of an engine process until it is connected, and its memory once idle. */
export async function measureStart(stage: Stage): Promise<Start> {
  const pid = await replaceEngine(stage);
  const started = startedAt(pid);
  const query = { instance_id: stage.instanceId, type: 'instance.connected' };
  const [connected] = await stage.customer.client.events({
    ...query,
    since: new Date(started).toISOString(),
  });
  await pause(IDLE_MS);
  return {
    connectedMs: Date.parse(connected!.timestamp) - started,
    idle: megabytes(pid),
    own: ownMegabytes(pid),
  };
}

function startedAt(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const ticks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
  const uptime = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
  return Date.now() - (uptime - ticks / TICKS) * 1000;
}
