import { isPaired } from './sessions.js';
import type { PairingState, SessionState } from './watch.js';
import { isOpen } from './view.js';

/** Events that a pairing stream has sent. */
export interface Seen {
  /** Whether the instance was unpaired while the stream was open, so that a pairing is a new event. */
  unpaired: boolean;
  paired: boolean;
  /** Last open session. */
  session: string | null;
  /** Last code sent. */
  code: string | null;
  /** Last step of a passkey sent. */
  passkey: string | null;
}

export const NOTHING_SEEN: Seen = {
  unpaired: false,
  paired: false,
  session: null,
  code: null,
  passkey: null,
};

export type StreamEvent =
  | { event: 'qr' | 'code'; code: { text: string; expiresAt: Date } }
  | { event: 'passkey' | 'passkey_code'; passkey: NonNullable<SessionState['passkey']> }
  | { event: 'paired' }
  | { event: 'connected' }
  | { event: 'error'; reason: string };

interface StreamStep {
  seen: Seen;
  events: StreamEvent[];
  end: boolean;
}

/** Decides the next events of a stream from the current rows (docs/interface.md). */
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
  const { method, code, passkey, passkeyCount } = session!;
  if (passkey !== null) {
    const step = `${session!.id} ${passkeyCount}`;
    if (step === seen.passkey) return { seen: open, events: [], end: false };
    const event = passkey.code === null ? 'passkey' : 'passkey_code';
    return { seen: { ...open, passkey: step }, events: [{ event, passkey }], end: false };
  }
  if (code === null || name === seen.code) return { seen: open, events: [], end: false };
  return { seen: { ...open, code: name }, events: [{ event: method, code }], end: false };
}

function stepPaired(seen: Seen, { state }: PairingState): StreamStep {
  const events: StreamEvent[] = seen.unpaired && !seen.paired ? [{ event: 'paired' }] : [];
  const connected = state === 'connected';
  if (connected) events.push({ event: 'connected' });
  return { seen: { ...seen, paired: seen.paired || seen.unpaired }, events, end: connected };
}
