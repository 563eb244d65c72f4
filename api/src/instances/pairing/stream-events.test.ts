import type { InstanceState } from '@gwk/core/states';
import { NOTHING_SEEN, stepStream, type Seen } from './stream-events.js';
import type { PairingState, SessionState } from './watch.js';

const expiresAt = new Date(Date.now() + 20_000);
const session = (change: Partial<SessionState> = {}): SessionState => ({
  ...{ id: 's1', method: 'qr', open: true, count: 1, error: null },
  ...{ passkey: null, passkeyCount: 0, owner: null },
  code: { text: 'qr-1', expiresAt },
  ...change,
});
const closed = (error: string | null) => session({ open: false, code: null, error });
const at = (state: InstanceState, pairing: SessionState | null = null): PairingState => ({
  ...{ accountId: 'a', instanceId: 'i', stateChangedAt: new Date(), jid: null, suspended: false },
  ...{ state, session: pairing },
});

/** Returns what a stream sends for the given states, one after the other. */
function stream(states: (PairingState | null)[]): string[] {
  const sent: string[] = [];
  let seen: Seen = NOTHING_SEEN;
  for (const current of states) {
    const step = stepStream(seen, current);
    seen = step.seen;
    for (const event of step.events) {
      sent.push(
        event.event === 'qr' ? event.code.text : event.event === 'error' ? event.reason : event.event,
      );
    }
    if (step.end) return [...sent, 'end'];
  }
  return sent;
}

const second = session({ count: 2, code: { text: 'qr-2', expiresAt } });
const waiting = session({ count: 0, code: null });

test.each<{ name: string; states: (PairingState | null)[]; sent: string[] }>([
  {
    name: 'a connected instance sends connected, then ends',
    states: [at('connected')],
    sent: ['connected', 'end'],
  },
  { name: 'no open session sends nothing', states: [at('pending_pair'), at('pending_pair')], sent: [] },
  {
    name: 'each new QR is sent once',
    states: [
      at('pending_pair', waiting),
      ...[session(), session(), second, second].map((s) => at('pending_pair', s)),
    ],
    sent: ['qr-1', 'qr-2'],
  },
  {
    name: 'a scanned QR sends paired, then connected, and ends',
    states: [at('pending_pair', session()), at('connecting', closed(null)), at('connected', closed(null))],
    sent: ['qr-1', 'paired', 'connected', 'end'],
  },
  {
    name: 'paired and connected are both sent if they happen between two reads',
    states: [at('logged_out', session()), at('connected', closed(null))],
    sent: ['qr-1', 'paired', 'connected', 'end'],
  },
  {
    name: 'paired is sent once, however long connecting takes',
    states: [
      at('pending_pair', session()),
      at('connecting'),
      at('disconnected'),
      at('connecting'),
      at('connected'),
    ],
    sent: ['qr-1', 'paired', 'connected', 'end'],
  },
  {
    name: 'a reconnecting instance sends only connected',
    states: [at('disconnected'), at('connecting'), at('connected')],
    sent: ['connected', 'end'],
  },
  {
    name: 'unread QRs send an error and end',
    states: [at('pending_pair', session()), at('pending_pair', closed('codes_unread'))],
    sent: ['qr-1', 'codes_unread', 'end'],
  },
  {
    name: 'a failed session before the stream sends nothing',
    states: [at('pending_pair', closed('codes_unread')), at('pending_pair', session({ id: 's2' }))],
    sent: ['qr-1'],
  },
  {
    name: 'a session closed by a logout does not end the stream',
    states: [at('pending_pair', session()), at('pending_pair', closed(null))],
    sent: ['qr-1'],
  },
  {
    name: 'a code to type is sent once',
    states: [...[1, 2].map(() => at('pending_pair', session({ method: 'code' }))), at('connected')],
    sent: ['code', 'paired', 'connected', 'end'],
  },
  {
    name: 'a deleted instance ends the stream',
    states: [at('pending_pair', session()), null],
    sent: ['qr-1', 'end'],
  },
])('$name', ({ states, sent }) => expect(stream(states)).toEqual(sent));

describe('a passkey', () => {
  const step = (code: string | null, passkeyCount: number) =>
    session({ code: null, passkey: { options: null, code, expiresAt }, passkeyCount });

  test('is sent once for each step, and again when the network asks again', () => {
    const states = [
      session(),
      step(null, 1),
      step(null, 1),
      step(null, 2),
      step('ABCD-1234', 3),
      step('ABCD-1234', 3),
    ];
    const sent = stream(states.map((now) => at('pending_pair', now)));
    expect(sent).toEqual(['qr-1', 'passkey', 'passkey', 'passkey_code']);
  });

  test('that is refused ends the stream', () => {
    const states = [step(null, 1), closed('passkey_refused')];
    expect(stream(states.map((now) => at('pending_pair', now)))).toEqual([
      'passkey',
      'passkey_refused',
      'end',
    ]);
  });
});
