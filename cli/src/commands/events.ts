import type { FollowQuery, GwkEvent } from '@gwk/client';
import type { Command } from 'commander';
import {
  addCommand,
  openGateway,
  parseCount,
  print,
  renderJson,
  writeCell,
  type CommonOptions,
} from '../command.js';
import { followEvents } from '../gateway/follow-events.js';
import { findInstance } from './instances.js';

interface TailOptions extends CommonOptions {
  type?: string;
  instance?: string;
  since?: string;
  count?: number;
}

export function registerEvents(program: Command): void {
  const events = program.command('events').description('events of instances and messages');
  addCommand(events, 'tail', 'print events as they happen, one a line; continues when the connection breaks')
    .option('--type <type>', 'only events of this type, e.g. message.received')
    .option('--instance <instance>', 'only events of this instance')
    .option('--since <cursor>', 'begin after this cursor of GET /v1/events, or "oldest" (default: now)')
    .option('-n, --count <number>', 'end after this number of events', parseCount)
    .action(tail);
}

async function tail({ type, instance, since, count, ...options }: TailOptions): Promise<void> {
  const gateway = openGateway(options);
  const id = instance === undefined ? undefined : (await findInstance(gateway, instance)).id;
  let left = count ?? Infinity;
  // The gateway refuses an unknown type.
  const query = { type, instance_id: id, after: since } as FollowQuery;
  for await (const event of followEvents(gateway, query)) {
    print(options.json ? renderJson(event) : describeEvent(event));
    left -= 1;
    if (left <= 0) return;
  }
}

/** One line: time, type, instance, and the subject of the event. */
export function describeEvent({ timestamp, type, instance_id, ...event }: GwkEvent): string {
  const data = event.data as Readonly<Record<string, unknown>>;
  const text = data['text'];
  const subject = [data['message_id'], data['status'], data['state'], data['reason']]
    .filter((value) => typeof value === 'string')
    .concat(typeof text === 'string' ? [text] : []);
  return [timestamp, type.padEnd(24), instance_id ?? '-', ...subject].map(writeCell).join('  ');
}
