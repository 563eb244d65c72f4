import { ApiError, type StreamEvent } from '@gwk/client';
import { useCallback, useEffect, useReducer, useState } from 'react';
import { useAccount, type Account } from '../../app/account';
import type { components } from '../../generated/api';

type PairingPasskey = components['schemas']['PairingPasskey'];
export type PasskeyCredential = components['schemas']['PasskeyAnswer']['credential'];

/** Without a method: joins a pairing that waits for a passkey, else shows a QR code. */
export type PairingRequest = { method?: 'qr' } | { method: 'code'; phone: string };

/** A code to scan or to type, and when the network replaces it. */
export interface ShownCode {
  text: string;
  /** Data URL of the QR code; null for a code to type. */
  image: string | null;
  expiresAt: number;
}

/** The phone that a pairing has linked. */
export interface LinkedPhone {
  jid: string;
  at: number;
}

export interface Pairing {
  phase: 'waiting' | 'open' | 'passkey' | 'paired' | 'connected' | 'failed';
  code: ShownCode | null;
  /** The phone waits for its passkey, then for the comparison of the code. */
  passkey: (Omit<PairingPasskey, 'expires_at'> & { expiresAt: Date }) | null;
  /** Null: none yet, or it was linked before this page opened. */
  linked: LinkedPhone | null;
  /** Reason of a failed session: a word of the API, or its text. */
  failure: { reason: string; detail: string } | null;
  /** The request itself failed, for example an invalid phone number. */
  error: Error | null;
}

const WAITING: Pairing = {
  phase: 'waiting',
  code: null,
  passkey: null,
  linked: null,
  failure: null,
  error: null,
};

type Change = Partial<Pairing> | 'restart';
const reduce = (state: Pairing, change: Change): Pairing =>
  change === 'restart' ? WAITING : { ...state, ...change };

const RECONNECT_MS = 1_000;

/**
 * Opens a pairing session and follows its stream, which renews the code. `restart` opens the next session after a
 * failure. A lost stream is opened again.
 */
export function usePairing(
  instanceId: string,
  request: PairingRequest | null,
): Pairing & { restart: () => void } {
  const account = useAccount();
  const [attempt, setAttempt] = useState(0);
  const [pairing, change] = useReducer(reduce, WAITING);
  useEffect(() => {
    if (request === null) return;
    const abort = new AbortController();
    const update = (next: Change): void => {
      if (!abort.signal.aborted) change(next);
    };
    change('restart');
    void open(account, instanceId, request).then(
      (opened) => {
        update(opened);
        return follow({ account, instanceId, signal: abort.signal, update });
      },
      (error: Error) => update(decideFailure(error)),
    );
    return () => abort.abort();
  }, [account, instanceId, request, attempt]);
  const restart = useCallback(() => setAttempt((count) => count + 1), []);
  return { ...pairing, restart };
}

async function open(
  { gwk }: Account,
  instanceId: string,
  request: PairingRequest,
): Promise<Partial<Pairing>> {
  const opened = await gwk.instances.startPairing(instanceId, request);
  if (opened.qr) return { phase: 'open', code: showQr(opened.qr) };
  // The stream follows with the time at which the code ends.
  return { phase: 'open' };
}

const showQr = ({ code, image, expires_in_s }: { code: string; image: string; expires_in_s: number }) => ({
  text: code,
  image,
  expiresAt: Date.now() + expires_in_s * 1000,
});

function decideFailure(error: Error): Partial<Pairing> {
  if (error instanceof ApiError && error.code === 'already-paired') return { phase: 'connected' };
  return { phase: 'failed', error };
}

interface Following {
  account: Account;
  instanceId: string;
  signal: AbortSignal;
  update: (change: Partial<Pairing>) => void;
}

async function follow(following: Following): Promise<void> {
  while (!following.signal.aborted) {
    try {
      if (await followOnce(following)) return;
    } catch (error) {
      const isFinal = error instanceof ApiError && error.status !== 503;
      if (isFinal) return following.update({ phase: 'failed', error });
    }
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
  }
}

/** Returns whether the session has ended. False: the stream was lost. */
async function followOnce(following: Following): Promise<boolean> {
  const { account, instanceId, signal, update } = following;
  for await (const event of account.gwk.instances.streamPairing(instanceId, { signal })) {
    const next = readEvent(event);
    update(next.phase === 'failed' ? { ...next, ...(await readFailure(following)) } : next);
    if (next.phase === 'failed' || next.phase === 'connected') return true;
  }
  return false;
}

function readEvent({ event, data }: StreamEvent): Partial<Pairing> {
  if (event === 'qr') return { phase: 'open', code: showQr(data as Parameters<typeof showQr>[0]) };
  if (event === 'code') {
    const { code, expires_in_s } = data as { code: string; expires_in_s: number };
    return { phase: 'open', code: { text: code, image: null, expiresAt: Date.now() + expires_in_s * 1000 } };
  }
  if (event === 'passkey' || event === 'passkey_code') {
    const { options, code, expires_at } = data as PairingPasskey;
    return { phase: 'passkey', code: null, passkey: { options, code, expiresAt: new Date(expires_at) } };
  }
  if (event === 'paired') {
    const { jid } = data as { jid: string };
    return { phase: 'paired', code: null, linked: { jid, at: Date.now() } };
  }
  if (event === 'connected') return { phase: 'connected', code: null };
  const { detail } = data as { detail: string };
  return { phase: 'failed', code: null, failure: { reason: '', detail } };
}

/** The stream says why in Portuguese; the session has the reason as a word. */
async function readFailure({ account, instanceId }: Following): Promise<Partial<Pairing>> {
  const { error } = await account.gwk.instances.getPairing(instanceId);
  return error ? { failure: error } : {};
}
