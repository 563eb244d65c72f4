import type { StanzaView } from '@gwk/network/control/views';
import type { InjectedFault } from './chaos-faults.js';
import type { InstanceStage } from '../support/instance/stage.js';

interface Moment {
  at: number;
  what: string;
}

/** Faults within this time before or after a message are part of its timeline. */
const AROUND_MS = 10_000;
const MOST_MOMENTS = 120;

/**
 * Everything the logs, the events and the network know of a message (by its id on the network), in order of
 * time.
 */
export async function timelineOf(
  stage: InstanceStage,
  id: string,
  injected: readonly InjectedFault[],
): Promise<string> {
  const events = await momentsOfEvents(stage, id);
  const moments = [...(await momentsOnNetwork(stage, id)), ...events.moments];
  const times = moments.map(({ at }) => at);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const near = injected
    .filter(({ from, to }) => to > first - AROUND_MS && from < last + AROUND_MS)
    .flatMap(({ what, from, to }) => [
      { at: from, what: `FAULT ${what}` },
      ...(to - from > 100 ? [{ at: to, what: `FAULT over: ${what}` }] : []),
    ]);
  const all = [...moments, ...near, ...momentsInLogs(stage, [id, ...events.names])];
  const lines = all
    .sort((one, other) => one.at - other.at)
    .slice(0, MOST_MOMENTS)
    .map(({ at, what }) => `    ${new Date(at).toISOString().slice(11, 23)} ${what}`);
  return `  ${id}\n${lines.join('\n')}`;
}

async function momentsOnNetwork({ network, phone }: InstanceStage, id: string): Promise<Moment[]> {
  const [stanzas, received, receipts] = await Promise.all([
    network.stanzas({ id }),
    network.received({ id }),
    network.receipts({ id }),
  ]);
  return [
    ...stanzas.map(({ at, way, connection, ignored, stanza }) => ({
      at,
      what: `network ${way} ${named(stanza)} on ${connection.slice(0, 8)}${ignored ? ', ignored' : ''}`,
    })),
    ...received.map(({ at, to, device, fate, attempt, encryption, error }) => ({
      at,
      what: `on the phone of ${to}:${device}: ${fate} (${encryption}, attempt ${attempt}) ${error ?? ''}`,
    })),
    ...receipts.map(({ at, from, type }) => ({
      at,
      what: `receipt ${type} of ${from === phone.number ? 'the phone number' : from}`,
    })),
  ];
}

const named = ({ tag, attrs }: StanzaView): string =>
  [
    tag,
    attrs['class'],
    attrs['type'],
    attrs['error'] && `error ${attrs['error']}`,
    `to ${attrs['to'] ?? '-'}`,
  ]
    .filter(Boolean)
    .join(' ');

async function momentsOfEvents(
  { customer, id: instance_id }: InstanceStage,
  id: string,
): Promise<{ moments: Moment[]; names: string[] }> {
  const all = await customer.client.events({ instance_id });
  const about = all.filter(({ data }) => data['wa_message_id'] === id);
  const ids = about.map(({ data }) => data['message_id']).filter((name) => typeof name === 'string');
  const names = [...new Set(ids)].flatMap((name) => [name, uuidOf(name)]);
  const moments = about.map(({ type, data, timestamp }) => ({
    at: Date.parse(timestamp),
    what: `event ${type} ${JSON.stringify([data['status'], data['message_id']])}`,
  }));
  return { moments, names };
}

const uuidOf = (name: string): string =>
  name.replace(/^\w+_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

function momentsInLogs({ gateway }: InstanceStage, names: readonly string[]): Moment[] {
  return [...gateway.logs()].flatMap(([program, lines]) =>
    lines
      .filter((line) => names.some((name) => line.includes(name)))
      .flatMap((line) => {
        const at = timeOf(line);
        return at === undefined ? [] : [{ at, what: `${program}: ${line.slice(0, 300)}` }];
      }),
  );
}

function timeOf(line: string): number | undefined {
  try {
    const { time } = JSON.parse(line) as { time?: number | string };
    const at = typeof time === 'string' ? Date.parse(time) : time;
    return at === undefined || Number.isNaN(at) ? undefined : at;
  } catch {
    return undefined;
  }
}
