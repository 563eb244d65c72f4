import { randomBytes } from 'node:crypto';
import {
  Curve,
  proto,
  type AuthenticationCreds,
  type BinaryNode,
  type WASocket,
} from '@whiskeysockets/baileys';
import type { Clock } from '@gwk/core/clock';
import { PasskeyNotAwaited, type ConnectionEvent, type PasskeyStep } from '../../driver.js';
import {
  buildPrologue,
  deriveCode,
  deriveHandoffKey,
  encryptPairingRequest,
  proveHandoff,
  readBytes,
  readPasskeyRequest,
  readPhoneIdentity,
  type PhoneIdentity,
} from './passkey-keys.js';

const SERVER = 's.whatsapp.net';
/** How long the code that the phone has scanned replaces the comparison of codes. */
const HANDOFF_MS = 300_000;
/** The browser that the socket announces. */
const DEVICE_TYPE = proto.DeviceProps.PlatformType.CHROME;

/** Reasons of a pairing that ended in its ceremony. */
type Reason = 'passkey_refused' | 'passkey_expired' | 'passkey_unsupported';

/** Keys of one answered request. */
interface Keys {
  pair: ReturnType<typeof Curve.generateKeyPair>;
  nonce: Buffer;
  ref: string;
  provedHandoff: boolean;
}

/** `answering`: the network has not accepted the assertion yet, so another one is refused. */
type State =
  | { step: 'idle' }
  | { step: 'asked' }
  | { step: 'answering'; keys: Keys }
  | { step: 'answered'; keys: Keys }
  | { step: 'comparing'; keys: Keys; phone: PhoneIdentity }
  | { step: 'confirmed' };

interface CeremonyOptions {
  socket: Pick<WASocket, 'ws' | 'query'>;
  creds: AuthenticationCreds;
  clock: Clock;
  emit: (event: ConnectionEvent) => void;
  fail: (reason: Reason) => void;
}

/**
 * Links this device to an account that requires a passkey, after its code was scanned or typed:
 *
 *     passkey_prologue_request ─▶ asked ── assertion, passkey_prologue ─▶ answered
 *     crsc_continuation, companion_nonce ─▶ comparing ── codes are equal, encrypted_pairing_request ─▶ confirmed
 *
 * Then the network sends the usual pair-success. With a proof that this device showed the scanned code, nobody compares
 * codes. A repeated request starts again. Nothing is stored: a new connection knows nothing of the ceremony.
 */
export class PasskeyCeremony {
  readonly #options: CeremonyOptions;
  #state: State = { step: 'idle' };
  #handoff: { key: Buffer; until: number } | undefined;
  #expiresAt = 0;
  #cancelExpiry: () => void = () => undefined;

  constructor(options: CeremonyOptions) {
    this.#options = options;
    const { ws } = options.socket;
    ws.on('CB:notification,type:passkey_prologue_request', (stanza: BinaryNode) => this.#ask(stanza));
    ws.on('CB:notification,type:crsc_continuation', (stanza: BinaryNode) => {
      // A refusal has ended the session, and a lost connection ends it.
      this.#continue(stanza).catch(() => undefined);
    });
  }

  get isUnderWay(): boolean {
    return this.#state.step !== 'idle';
  }

  /** Deletes the keys. */
  close(): void {
    this.#cancelExpiry();
    this.#handoff?.key.fill(0);
    this.#handoff = undefined;
    this.#enter({ step: 'idle' });
  }

  /** @throws PasskeyNotAwaited */
  async take(step: PasskeyStep): Promise<void> {
    if (step.kind === 'assertion') return this.#answer(step.credential);
    if (this.#state.step !== 'comparing') throw new PasskeyNotAwaited();
    if (!step.equal) return this.#options.fail('passkey_refused');
    await this.#confirm(this.#state);
  }

  /** Whether nothing has happened since. */
  #isStill(state: State): boolean {
    return this.#state === state;
  }

  #enter(state: State): void {
    const keys = 'keys' in this.#state ? this.#state.keys : undefined;
    if (keys && !('keys' in state && state.keys === keys)) {
      keys.pair.private.fill(0);
      keys.nonce.fill(0);
    }
    this.#state = state;
  }

  #ask(stanza: BinaryNode): void {
    const { creds, clock, emit, fail } = this.#options;
    const request = readPasskeyRequest(stanza);
    if (request === null) return fail('passkey_unsupported');
    if (!this.#handoff) {
      const key = deriveHandoffKey(Buffer.from(creds.advSecretKey, 'base64'));
      this.#handoff = { key, until: clock.now() + HANDOFF_MS };
    }
    // The phone learns a secret that no code has shown.
    creds.advSecretKey = randomBytes(32).toString('base64');
    this.#enter({ step: 'asked' });
    this.#cancelExpiry();
    this.#expiresAt = clock.now() + request.timeoutMs;
    this.#cancelExpiry = clock.after(request.timeoutMs, () => fail('passkey_expired'));
    emit({ kind: 'passkey', options: request.options, expiresInMs: request.timeoutMs });
  }

  async #answer(credential: string): Promise<void> {
    if (this.#state.step !== 'asked') throw new PasskeyNotAwaited();
    const keys: Keys = {
      pair: Curve.generateKeyPair(),
      nonce: randomBytes(32),
      ref: '',
      provedHandoff: false,
    };
    const state: State = { step: 'answering', keys };
    this.#enter(state);
    const answer = await this.#query('get', 'ref');
    const ref = readBytes(answer, 'ref')?.toString('utf8');
    if (!this.#isStill(state)) throw new PasskeyNotAwaited();
    if (ref === undefined) return this.#options.fail('passkey_unsupported');
    keys.ref = ref;
    const companion = { publicKey: keys.pair.public, deviceType: DEVICE_TYPE, ref };
    const prologue = buildPrologue(companion, keys.nonce);
    const proof = this.#proveHandoff(prologue);
    keys.provedHandoff = proof !== null;
    this.#enter({ step: 'answered', keys });
    const { rawId } = JSON.parse(credential) as { rawId: string };
    await this.#query('set', 'passkey_prologue', [
      { tag: 'credential_id', attrs: {}, content: Buffer.from(rawId, 'base64url') },
      { tag: 'webauthn_assertion', attrs: {}, content: Buffer.from(credential) },
      { tag: 'prologue_payload', attrs: {}, content: prologue },
      ...(proof ? [{ tag: 'pairing_handoff_proof', attrs: {}, content: proof }] : []),
    ]);
  }

  #proveHandoff(prologue: Buffer): Buffer | null {
    const handoff = this.#handoff;
    if (!handoff || this.#options.clock.now() >= handoff.until) return null;
    return proveHandoff(handoff.key, prologue);
  }

  async #continue(stanza: BinaryNode): Promise<void> {
    const state = this.#state;
    if (state.step !== 'answered') return;
    const { keys } = state;
    const phone = readPhoneIdentity(stanza);
    if (phone === null) return this.#options.fail('passkey_unsupported');
    const comparing = { step: 'comparing', keys, phone } as const;
    const code = deriveCode(keys.nonce, phone);
    await this.#query('set', 'companion_nonce', Buffer.from(keys.nonce));
    if (!this.#isStill(state)) return;
    this.#enter(comparing);
    if (keys.provedHandoff) return this.#confirm(comparing);
    const expiresInMs = Math.max(0, this.#expiresAt - this.#options.clock.now());
    this.#options.emit({ kind: 'passkey-code', code, expiresInMs });
  }

  async #confirm({ keys, phone }: Extract<State, { step: 'comparing' }>): Promise<void> {
    const { creds } = this.#options;
    const request = {
      companionPublicKey: creds.noiseKey.public,
      companionIdentityKey: creds.signedIdentityKey.public,
      advSecret: Buffer.from(creds.advSecretKey, 'base64'),
    };
    const encrypted = encryptPairingRequest(request, {
      ...{ privateKey: keys.pair.private, deviceType: DEVICE_TYPE, ref: keys.ref },
      ...{ phone, iv: randomBytes(12) },
    });
    this.#enter({ step: 'confirmed' });
    await this.#query('set', 'encrypted_pairing_request', encrypted);
  }

  /** The network's refusal ends the session. No answer does not: its next stanza may follow, or the request expires. */
  async #query(
    type: 'get' | 'set',
    tag: string,
    content?: BinaryNode['content'],
  ): Promise<BinaryNode | undefined> {
    const asked = { tag, attrs: {}, ...(content !== undefined && { content }) };
    try {
      const attrs = { to: SERVER, type, xmlns: 'md' };
      return (await this.#options.socket.query({ tag: 'iq', attrs, content: [asked] })) as
        BinaryNode | undefined;
    } catch (error) {
      if (isRefusal(error)) this.#options.fail('passkey_refused');
      throw new PasskeyNotAwaited();
    }
  }
}

/** Baileys throws the network's error with its code; a lost connection has one of its own. */
const isRefusal = (error: unknown): boolean => {
  const data: unknown = (error as { data?: unknown }).data;
  return typeof data === 'number' || typeof data === 'string';
};
