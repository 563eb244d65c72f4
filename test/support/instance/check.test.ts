import type { EventOut } from '@gwk/api/resources/event';
import type { MessageOut } from '@gwk/core/resources/message';
import type { Person } from '@gwk/network/control/client';
import { findFaults, type Observations } from './check.js';

/** Cases that the chaos check must detect, and cases that it must accept. */
const ANA = { number: '1' } as Person;
const CHAT = { to: '1', readers: [ANA] };

const arrival = (n: number, seq: number, fate: 'shown' | 'repeated' | 'dropped' = 'shown') => ({
  ...{ seq, at: seq, id: `W${n}`, to: '1', text: `out ${n}` },
  fate,
});
const row = (n: number, status = 'delivered') =>
  ({ id: `msg_${n}`, wa_message_id: `W${n}`, status, error: null }) as unknown as MessageOut;
const sent = (n: number, id: number) =>
  ({ id: `evt_${id}`, type: 'message.sent', data: { message_id: `msg_${n}` } }) as unknown as EventOut;
const reported = (n: number, id: number) =>
  ({
    id: `evt_${id}`,
    type: 'message.received',
    data: { wa_message_id: `I${n}`, text: `in ${n}` },
  }) as unknown as EventOut;

const GOOD: Observations = {
  chats: [CHAT],
  accepted: new Map([['1', [1, 2].map((n) => ({ id: `msg_${n}`, chat: '1', text: `out ${n}` }))]]),
  written: new Map([['1', [1, 2].map((n) => ({ id: `I${n}`, text: `in ${n}` }))]]),
  arrivals: [arrival(1, 1), arrival(2, 2)],
  messages: [row(1), row(2)],
  events: [reported(2, 4), reported(1, 3), sent(2, 2), sent(1, 1)],
};

test.each<[string, Partial<Observations>, string | null]>([
  ['accepts a run without faults', {}, null],
  [
    'accepts a repeated message that phones do not show',
    { arrivals: [...GOOD.arrivals, arrival(1, 3, 'repeated')] },
    null,
  ],
  ['detects a message that nobody saw', { arrivals: [arrival(1, 1)] }, '"out 2" is missing'],
  [
    'detects a message shown twice',
    { arrivals: [...GOOD.arrivals, arrival(1, 3)] },
    '"out 1" is there twice',
  ],
  [
    'detects messages in the wrong order',
    { arrivals: [arrival(2, 1), arrival(1, 2)] },
    'place 0 is "out 2", not "out 1"',
  ],
  [
    'detects a message that a phone dropped',
    { arrivals: [...GOOD.arrivals, arrival(1, 3, 'dropped')] },
    'dropped on the phone',
  ],
  ['detects an undelivered message', { messages: [row(1), row(2, 'sent')] }, 'is sent'],
  ['detects a missing message.sent event', { events: GOOD.events.slice(0, 3) }, 'has no event message.sent'],
  ['detects a repeated message.sent event', { events: [sent(1, 5), ...GOOD.events] }, 'reported 2 times'],
  ['detects a received message without an event', { events: GOOD.events.slice(1) }, '"in 2" is missing'],
  [
    'detects a received message with two events',
    { events: [reported(1, 5), ...GOOD.events] },
    '"in 1" is there twice',
  ],
  [
    'detects events in the wrong order',
    { events: [reported(1, 4), reported(2, 3), sent(2, 2), sent(1, 1)] },
    'place 0 is "in 2", not "in 1"',
  ],
])('%s', (_, change, expected) => {
  const faults = findFaults({ ...GOOD, ...change });
  if (expected === null) expect(faults).toEqual([]);
  else expect(faults.map(({ what }) => what)).toEqual([expect.stringContaining(expected)]);
});
