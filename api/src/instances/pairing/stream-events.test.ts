import type { InstanceState } from '@gwk/core/states';
import { NOTHING_SEEN, stepStream, type Seen } from './stream-events.js';
import type { PairingState, SessionState } from './watch.js';

const expiresAt = new Date(Date.now() + 20_000);
const session = (change: Partial<SessionState> = {}): SessionState => ({
  ...{ id: 's1', method: 'qr', open: true, count: 1, error: null },
  code: { text: 'qr-1', expiresAt },
  ...change,
});
const closed = (error: string | null) => session({ open: false, code: null, error });
const at = (state: InstanceState, pairing: SessionState | null = null): PairingState => ({
  ...{ accountId: 'a', instanceId: 'i', stateChangedAt: new Date(), jid: null, suspended: false },
  ...{ state, session: pairing },
});

/** What a stream says of one look at the rows after the other. */
function stream(looks: (PairingState | null)[]): string[] {
  const said: string[] = [];
  let seen: Seen = NOTHING_SEEN;
  for (const look of looks) {
    const step = stepStream(seen, look);
    seen = step.seen;
    for (const event of step.events) {
      said.push(
        event.event === 'qr' ? event.code.text : event.event === 'error' ? event.reason : event.event,
      );
    }
    if (step.end) return [...said, 'end'];
  }
  return said;
}

const second = session({ count: 2, code: { text: 'qr-2', expiresAt } });
const waiting = session({ count: 0, code: null });

test.each<{ name: string; looks: (PairingState | null)[]; said: string[] }>([
  {
    name: 'a connected instance: one connected, then the end',
    looks: [at('connected')],
    said: ['connected', 'end'],
  },
  { name: 'with no session open it waits', looks: [at('pending_pair'), at('pending_pair')], said: [] },
  {
    name: 'a qr at each QR change, and once only',
    looks: [
      at('pending_pair', waiting),
      ...[session(), session(), second, second].map((s) => at('pending_pair', s)),
    ],
    said: ['qr-1', 'qr-2'],
  },
  {
    name: 'the phone reads the QR: paired, then connected, and the end',
    looks: [at('pending_pair', session()), at('connecting', closed(null)), at('connected', closed(null))],
    said: ['qr-1', 'paired', 'connected', 'end'],
  },
  {
    name: 'paired and connected between two looks are both said',
    looks: [at('logged_out', session()), at('connected', closed(null))],
    said: ['qr-1', 'paired', 'connected', 'end'],
  },
  {
    name: 'paired is said once, however long connecting takes',
    looks: [
      at('pending_pair', session()),
      at('connecting'),
      at('disconnected'),
      at('connecting'),
      at('connected'),
    ],
    said: ['qr-1', 'paired', 'connected', 'end'],
  },
  {
    name: 'an instance that reconnects was paired before: only connected is news',
    looks: [at('disconnected'), at('connecting'), at('connected')],
    said: ['connected', 'end'],
  },
  {
    name: 'six QRs unread: an error, then the end',
    looks: [at('pending_pair', session()), at('pending_pair', closed('codes_unread'))],
    said: ['qr-1', 'codes_unread', 'end'],
  },
  {
    name: 'a failure of a session before the stream is no news',
    looks: [at('pending_pair', closed('codes_unread')), at('pending_pair', session({ id: 's2' }))],
    said: ['qr-1'],
  },
  {
    name: 'a session that was closed by a logout ends nothing',
    looks: [at('pending_pair', session()), at('pending_pair', closed(null))],
    said: ['qr-1'],
  },
  {
    name: 'the code of a phone is not shown on a stream',
    looks: [at('pending_pair', session({ method: 'code' })), at('connected')],
    said: ['paired', 'connected', 'end'],
  },
  { name: 'a deleted instance ends it', looks: [at('pending_pair', session()), null], said: ['qr-1', 'end'] },
])('$name', ({ looks, said }) => expect(stream(looks)).toEqual(said));
