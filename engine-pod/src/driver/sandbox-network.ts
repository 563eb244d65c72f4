import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { failpoint } from '@gwk/core/failpoints';
import type { FailureCode } from '@gwk/core/states';
import { SendFailure, type Stanza } from './driver.js';

export interface SandboxNetwork {
  /** Resolves at the network's acknowledgement. @throws SendFailure */
  write(stanza: Stanza): Promise<void>;
  close(): void;
}

const OWN_ACK_MS = 5;

/** No network: every stanza is acknowledged after a few milliseconds. */
export class LonelyNetwork implements SandboxNetwork {
  async write(stanza: Stanza): Promise<void> {
    if (!stanza.mayWrite()) throw SendFailure.notWritten();
    failpoint('engine.after-send');
    await new Promise((resolve) => setTimeout(resolve, OWN_ACK_MS));
  }

  close(): void {}
}

export interface NetworkIdentity {
  instance_id: string;
  pod: string;
  epoch: number;
}

/**
 * The network played by another program, which records what arrives and may delay or swallow it:
 * `POST {url}/stanza {instance_id, pod, epoch, wa_message_id, chat, body}` with the built bytes in base64, answered
 * by `{"ack": true}` or `{"ack": false, "code"}`. No answer is doubt.
 */
export class RemoteNetwork implements SandboxNetwork {
  readonly #url: URL;
  readonly #identity: NetworkIdentity;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(baseUrl: string, identity: NetworkIdentity) {
    this.#url = new URL('stanza', baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`);
    this.#identity = identity;
  }

  async write(stanza: Stanza): Promise<void> {
    const answer = await this.#post(stanza);
    if (answer.ack === true) return;
    if (answer.ack === false) throw SendFailure.refused(answer.code ?? 'wa_error', 'refused by the network');
    throw SendFailure.doubt();
  }

  close(): void {
    this.#agent.destroy();
  }

  #post(stanza: Stanza): Promise<{ ack?: boolean; code?: FailureCode }> {
    const body = JSON.stringify({
      ...this.#identity,
      wa_message_id: stanza.waMessageId,
      chat: stanza.chat,
      body: stanza.bytes.toString('base64'),
    });
    return new Promise((resolve, reject) => {
      const request = httpRequest(this.#url, {
        method: 'POST',
        agent: this.#agent,
        signal: stanza.signal,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      });
      request.on('response', (response) => {
        readAnswer(response).then(resolve, () => reject(SendFailure.doubt()));
      });
      request.on('error', () => reject(SendFailure.doubt()));
      request.on('finish', () => failpoint('engine.after-send'));
      whenConnected(request, () => {
        if (stanza.mayWrite()) request.end(body);
        else {
          reject(SendFailure.notWritten());
          request.destroy();
        }
      });
    });
  }
}

/** A body given to a request earlier than this would be written whenever the connection comes about. */
function whenConnected(request: ClientRequest, then: () => void): void {
  request.once('socket', (socket: Socket) => {
    if (socket.connecting) socket.once('connect', then);
    else then();
  });
}

const MAX_ANSWER_BYTES = 10_000;

async function readAnswer(response: IncomingMessage): Promise<{ ack?: boolean; code?: FailureCode }> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    if (text.length > MAX_ANSWER_BYTES) throw new Error('the answer is too long');
  }
  if (response.statusCode !== 200) throw new Error(`the network answered ${response.statusCode}`);
  return JSON.parse(text) as { ack?: boolean; code?: FailureCode };
}
