import { isPaired } from './sessions.js';
import type { PairingState } from './watch.js';
import { isOpen } from './view.js';

/** What has gone out on one pairing stream. */
export interface Seen {
  /** The number was unpaired while the stream was open: a pairing is news. */
  unpaired: boolean;
  paired: boolean;
  /** The session that was open last. */
  session: string | null;
  /** The last code that was sent. */
  code: string | null;
}

export const NOTHING_SEEN: Seen = { unpaired: false, paired: false, session: null, code: null };

export type StreamEvent =
  | { event: 'qr'; code: { text: string; expiresAt: Date } }
  | { event: 'paired' }
  | { event: 'connected' }
  | { event: 'error'; reason: string };

export interface StreamStep {
  seen: Seen;
  events: StreamEvent[];
  end: boolean;
}

/** (spec: Pairing stream events; design: pairing, pairing stream) What a look at the rows adds to a stream. Pure. */
export function stepStream(seen: Seen, now: PairingState | null): StreamStep {
  if (now === null) return { seen, events: [], end: true };
  if (isPaired(now.state)) return stepPaired(seen, now);
  const { session } = now;
  const unpaired = { ...seen, unpaired: true };
  if (!isOpen(now)) {
    const failed = session !== null && session.id === seen.session && session.error !== null;
    return failed
      ? { seen: unpaired, events: [{ event: 'error', reason: session.error! }], end: true }
      : { seen: unpaired, events: [], end: false };
  }
  const name = `${session!.id} ${session!.count}`;
  const open = { ...unpaired, session: session!.id };
  if (session!.code === null || session!.method !== 'qr' || name === seen.code) {
    return { seen: open, events: [], end: false };
  }
  return { seen: { ...open, code: name }, events: [{ event: 'qr', code: session!.code }], end: false };
}

function stepPaired(seen: Seen, { state }: PairingState): StreamStep {
  const events: StreamEvent[] = seen.unpaired && !seen.paired ? [{ event: 'paired' }] : [];
  const connected = state === 'connected';
  if (connected) events.push({ event: 'connected' });
  return { seen: { ...seen, paired: seen.paired || seen.unpaired }, events, end: connected };
}
