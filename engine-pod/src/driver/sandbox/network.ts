import type { ClientRequest, IncomingMessage } from 'node:http';
import { http } from '@gwk/core/http/node-http';
import type { Socket } from 'node:net';
import { urlToHttpOptions } from 'node:url';
import { failpoint } from '@gwk/core/process/failpoints';
import type { OpenPairing } from '@gwk/core/protocol/engine';
import type { Presence } from '@gwk/core/resources/live';
import type { FailureCode } from '@gwk/core/states';
import type { Clock } from '@gwk/core/clock';
import { waitOnClock, unrefClock } from '../../clock.js';
import { SendFailure, type DriverContext, type ReadMessage, type Stanza } from '../driver.js';

export interface SandboxNetwork {
  /**
   * Resolves at the network's acknowledgement.
   * @throws SendFailure
   */
  write(stanza: Stanza): Promise<void>;
  /**
   * Sends a signal that is no message. Resolves when the network has it.
   * @throws SendFailure
   */
  signal(signal: Signal): Promise<void>;
  openPairing(wanted: OpenPairing, signal: AbortSignal): Promise<PairingTerms>;
  /** The next action of the phone or the network; null when there is none in time. Never rejects. */
  nextEvent(withinMs: number, signal: AbortSignal): Promise<PhoneEvent | null>;
  close(): void;
}

/** Number of pairing codes and validity of each. */
export interface PairingTerms {
  codes: number;
  codeMs: number;
}

export type Signal =
  | { kind: 'unlink' }
  | { kind: 'check'; name: string }
  | { kind: 'read'; chat: string; messages: readonly ReadMessage[] }
  | { kind: 'presence'; chat: string; presence: Presence };

export type PhoneEvent =
  | { kind: 'scan' }
  | { kind: 'refuse'; reason: string }
  | { kind: 'drop'; reason: string }
  | { kind: 'unlink'; reason: string }
  | { kind: 'ban'; code: string; expires_at: string | null }
  | { kind: 'replace' };

const ACK_MS = 5;
/** As on the real network. */
const DEFAULT_TERMS: PairingTerms = { codes: 6, codeMs: 20_000 };
/** Delay after which the first code counts as scanned, because a sandbox has no phone. */
const SCAN_MS = 5_000;

/** Simulates the network in the process: acknowledges every stanza after 5 ms and scans a code after 5 s. */
export class LocalSandboxNetwork implements SandboxNetwork {
  readonly #clock: Clock;
  #pairing = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async write(stanza: Stanza): Promise<void> {
    if (!stanza.mayWrite()) throw SendFailure.notWritten();
    failpoint('engine.after-send');
    await new Promise<void>((resolve) => this.#clock.after(ACK_MS, resolve));
  }

  async signal(): Promise<void> {}

  async openPairing(): Promise<PairingTerms> {
    this.#pairing = true;
    return DEFAULT_TERMS;
  }

  async nextEvent(withinMs: number, signal: AbortSignal): Promise<PhoneEvent | null> {
    await waitOnClock(this.#clock, this.#pairing ? SCAN_MS : withinMs, signal);
    if (!this.#pairing || signal.aborted) return null;
    this.#pairing = false;
    return { kind: 'scan' };
  }

  close(): void {
    this.#pairing = false;
  }
}

/**
 * Lets another program simulate the network. It records stanzas and may delay or drop them:
 * `POST {url}/stanza {instance_id, pod, epoch, wa_message_id, chat, body}` with the built bytes in base64. The
 * answer is `{"ack": true}` or `{"ack": false, "code"}`. No answer means unconfirmed.
 *
 * `/signal {instance_id, ..., signal}` takes signals that are no messages. `/pairing {instance_id, ..., wanted}`
 * answers the PairingTerms. `/event {instance_id, ..., within_ms}` answers `{"event"}`: the next PhoneEvent, or
 * null after that time.
 */
export class RemoteSandboxNetwork implements SandboxNetwork {
  readonly #target: ReturnType<typeof urlToHttpOptions>;
  readonly #path: string;
  readonly #identity: Record<string, unknown>;
  readonly #agent = new http.Agent({ keepAlive: true });

  constructor(baseUrl: string, { instanceId, pod, epoch }: DriverContext) {
    const url = new URL(baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`);
    this.#target = urlToHttpOptions(url);
    this.#path = url.pathname;
    this.#identity = { instance_id: instanceId, pod, epoch };
  }

  async write(stanza: Stanza): Promise<void> {
    const { waMessageId: wa_message_id, chat, bytes, mayWrite, signal } = stanza;
    const answer = await this.#post(
      'stanza',
      { wa_message_id, chat, body: bytes.toString('base64') },
      { mayWrite, signal, written: () => failpoint('engine.after-send') },
    );
    if (answer['ack'] === true) return;
    if (answer['ack'] !== false) throw SendFailure.unconfirmed();
    throw SendFailure.refused(
      (answer['code'] as FailureCode | undefined) ?? 'wa_error',
      'refused by the network',
    );
  }

  async signal(signal: Signal): Promise<void> {
    await this.#post('signal', { signal }, { signal: AbortSignal.timeout(SIGNAL_MS) });
  }

  async openPairing(wanted: OpenPairing, signal: AbortSignal): Promise<PairingTerms> {
    return (await this.#post('pairing', { wanted }, { signal })) as unknown as PairingTerms;
  }

  async nextEvent(withinMs: number, signal: AbortSignal): Promise<PhoneEvent | null> {
    const end = performance.now() + withinMs;
    while (!signal.aborted && performance.now() < end) {
      const within_ms = Math.round(Math.min(EVENT_WAIT_MS, end - performance.now()));
      try {
        const { event } = await this.#post('event', { within_ms }, { signal });
        if (event) return event as PhoneEvent;
      } catch {
        await waitOnClock(unrefClock, Math.min(RETRY_MS, Math.max(0, end - performance.now())), signal);
      }
    }
    return null;
  }

  close(): void {
    this.#agent.destroy();
  }

  /**
   * Reads the answer by events, listens to the signal itself and parses no address: with an iterator, Node's option `signal` and
   * a URL for each request, a sandbox engine took 4 % more CPU time.
   */
  #post(route: string, fields: Record<string, unknown>, posting: PostOptions): Promise<NetworkAnswer> {
    const body = JSON.stringify({ ...this.#identity, ...fields });
    return new Promise((resolve, reject) => {
      const request = http.request({
        ...this.#target,
        path: `${this.#path}${route}`,
        method: 'POST',
        agent: this.#agent,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      });
      let answer: NetworkAnswer | null = null;
      const abort = (): void => void request.destroy();
      posting.signal.addEventListener('abort', abort);
      request.on('response', (response) => readAnswer(response, (read) => resolve((answer = read))));
      request.on('error', () => undefined);
      request.on('close', () => {
        posting.signal.removeEventListener('abort', abort);
        if (!answer) reject(SendFailure.unconfirmed());
      });
      if (posting.signal.aborted) abort();
      if (posting.written) request.on('finish', posting.written);
      whenConnected(request, () => {
        if (posting.mayWrite?.() !== false) request.end(body);
        else {
          reject(SendFailure.notWritten());
          request.destroy();
        }
      });
    });
  }
}

interface PostOptions {
  signal: AbortSignal;
  mayWrite?: () => boolean;
  written?: () => void;
}

type NetworkAnswer = Record<string, unknown>;

const SIGNAL_MS = 5_000;
/** Longest time that a request for the next event stays open. */
const EVENT_WAIT_MS = 20_000;
const RETRY_MS = 500;

/** Node would write an earlier body whenever the connection opens, without checking `mayWrite`. */
function whenConnected(request: ClientRequest, then: () => void): void {
  request.once('socket', (socket: Socket) => {
    if (socket.connecting) socket.once('connect', then);
    else then();
  });
}

const MAX_ANSWER_BYTES = 10_000;

/** Passes on an answer that can be read. The request fails when it closes without one. */
function readAnswer(response: IncomingMessage, resolve: (answer: NetworkAnswer) => void): void {
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    text += chunk;
    if (text.length > MAX_ANSWER_BYTES) response.destroy();
  });
  response.on('end', () => {
    if (response.statusCode !== 200 || text.length > MAX_ANSWER_BYTES) return;
    try {
      resolve(JSON.parse(text) as NetworkAnswer);
    } catch {
      // No JSON.
    }
  });
  response.on('error', () => undefined);
}
