import { randomUUID } from 'node:crypto';
import { Agent, request, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import type { ProblemBody } from '@gwk/core/problems/problems';
import type { Page } from '@gwk/core/resources/common';
import type { EventOut } from '@gwk/api/resources/event';
import type { InstanceOut } from '@gwk/api/resources/instance';
import type { MessageOut } from '@gwk/core/resources/message';
import type { DeliveryOut, WebhookEndpointOut } from '@gwk/api/resources/webhook';
import { hasLeft } from '@gwk/core/states';
import { checkAnswer } from './contract.js';
import { pause, realTime, until } from '../wait.js';

export interface Answer<T = unknown> {
  status: number;
  headers: IncomingHttpHeaders;
  /** Undefined if the response had no JSON body. */
  body: T;
  text: string;
}

export interface Call {
  /** Objects are sent as JSON; strings and bytes unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
  timeoutMs?: number;
  /** Whether to repeat the call after a 503. Defaults to the setting of the client. */
  patient?: boolean;
}

/** A response with an unexpected status. */
export class UnexpectedAnswer extends Error {
  override name = 'UnexpectedAnswer';
  constructor(
    what: string,
    readonly answer: Answer,
  ) {
    super(`${what}: ${answer.status} ${answer.text.slice(0, 500)}`);
  }
}

/** Only a gateway that hangs reaches it. */
const TIMEOUT_MS = realTime(120_000);

/** The gateway as a consumer's program sees it. */
export class GatewayClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 128 });

  /**
   * @param isPatient repeats a call after a 503 and its Retry-After, as consumers do. A busy machine answers 503 to
   * meet its deadlines.
   */
  constructor(
    readonly baseUrl: string,
    readonly apiKey: string,
    readonly isPatient = false,
  ) {}

  close(): void {
    this.#agent.destroy();
  }

  /** Checks every response against the OpenAPI document. Rejects on an incomplete or an undocumented response. */
  async call<T = ProblemBody>(method: string, path: string, call: Call = {}): Promise<Answer<T>> {
    if (!(call.patient ?? this.isPatient)) return this.#callOnce(method, path, call);
    // The key prevents a repeated call from taking effect twice.
    const key = { ...(method === 'POST' && { 'idempotency-key': randomUUID() }) };
    const whole = { ...call, headers: { ...key, ...call.headers } };
    const end = Date.now() + TIMEOUT_MS;
    for (;;) {
      const answer = await this.#callOnce<T>(method, path, whole);
      if (answer.status !== 503 || Date.now() > end) return answer;
      const seconds = Number(answer.headers['retry-after']);
      if (!(seconds > 0)) throw new UnexpectedAnswer(`${method} ${path}: no Retry-After`, answer);
      await pause(1000 * seconds);
    }
  }

  async #callOnce<T>(method: string, path: string, call: Call): Promise<Answer<T>> {
    const { body, headers = {}, timeoutMs = TIMEOUT_MS } = call;
    const raw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
    const payload = raw ? body : JSON.stringify(body);
    const options = {
      method,
      agent: this.#agent,
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        authorization: `Bearer ${this.apiKey}`,
        ...(payload !== undefined && {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(payload)),
        }),
        ...headers,
      },
    };
    const answer = await exchange(new URL(path, this.baseUrl), options, payload);
    await checkAnswer(this.baseUrl, { ...answer, method, path });
    return { ...answer, body: parse(answer.text) as T };
  }

  /** @throws UnexpectedAnswer if the status differs */
  async expect<T>(status: number, method: string, path: string, call: Call = {}): Promise<T> {
    const answer = await this.call<T>(method, path, call);
    if (answer.status !== status) throw new UnexpectedAnswer(`${method} ${path}`, answer);
    return answer.body;
  }

  createInstance(name: string, kind = 'sandbox'): Promise<InstanceOut> {
    return this.expect(201, 'POST', '/v1/instances', { body: { name, kind }, patient: true });
  }

  instance(id: string): Promise<InstanceOut> {
    return this.expect(200, 'GET', `/v1/instances/${id}`);
  }

  async connectedInstance(name: string): Promise<InstanceOut> {
    const { id } = await this.createInstance(name);
    return this.untilConnected(id);
  }

  untilConnected(id: string): Promise<InstanceOut> {
    return until(
      async () => {
        const instance = await this.instance(id);
        return instance.state === 'connected' && instance;
      },
      { what: `instance ${id} is connected` },
    );
  }

  sendText(
    instanceId: string,
    to: string,
    text: string,
    idempotencyKey?: string,
  ): Promise<Answer<MessageOut>> {
    return this.call('POST', '/v1/messages', {
      body: { instance_id: instanceId, to, type: 'text', text: { body: text } },
      ...(idempotencyKey !== undefined && { headers: { 'idempotency-key': idempotencyKey } }),
    });
  }

  /** @throws UnexpectedAnswer if the message was not accepted */
  async acceptedText(instanceId: string, to: string, text: string): Promise<MessageOut> {
    const answer = await this.sendText(instanceId, to, text);
    if (answer.status !== 202) throw new UnexpectedAnswer('POST /v1/messages', answer);
    return answer.body;
  }

  message(id: string): Promise<MessageOut> {
    return this.expect(200, 'GET', `/v1/messages/${id}`);
  }

  /** Whether the message has been sent. It may have advanced to delivered or read already. */
  async hasLeft(id: string): Promise<boolean> {
    return hasLeft((await this.message(id)).status);
  }

  createWebhook(url: string, fields: Record<string, unknown> = {}): Promise<WebhookEndpointOut> {
    return this.expect(201, 'POST', '/v1/webhook-endpoints', { body: { url, ...fields } });
  }

  messages(query: Record<string, string> = {}): Promise<MessageOut[]> {
    return this.#all('/v1/messages', query);
  }

  async anyMessage(query: Record<string, string>): Promise<boolean> {
    const search = new URLSearchParams({ ...query, limit: '1' });
    const page = await this.expect<Page<MessageOut>>(200, 'GET', `/v1/messages?${search.toString()}`);
    return page.data.length > 0;
  }

  events(query: Record<string, string> = {}): Promise<EventOut[]> {
    return this.#all('/v1/events', query);
  }

  /** Time of the newest event, as a rising number; 0 if there is none. */
  async newestEvent(instanceId: string): Promise<number> {
    const page = await this.expect<Page<EventOut>>(
      200,
      'GET',
      `/v1/events?instance_id=${instanceId}&limit=1`,
    );
    return Number.parseInt(page.data[0]?.id.slice(4, 20) ?? '0', 16);
  }

  deliveries(endpointId: string, query: Record<string, string> = {}): Promise<DeliveryOut[]> {
    return this.#all(`/v1/webhook-endpoints/${endpointId}/deliveries`, query);
  }

  /** Reads every page of a list, newest first. */
  async #all<T>(path: string, query: Record<string, string>): Promise<T[]> {
    const items: T[] = [];
    let cursor: string | null = null;
    do {
      const search: URLSearchParams = new URLSearchParams({
        limit: '200',
        ...query,
        ...(cursor !== null && { cursor }),
      });
      const page: Page<T> = await this.expect(200, 'GET', `${path}?${search.toString()}`);
      items.push(...page.data);
      cursor = page.next_cursor;
    } while (cursor !== null);
    return items;
  }
}

function exchange(
  url: URL,
  options: RequestOptions,
  payload: string | Buffer | undefined,
): Promise<Omit<Answer, 'body'>> {
  return new Promise((resolve, reject) => {
    const call = request(url, options, (response) => {
      const { statusCode: status = 0, headers } = response;
      // A stream may have no end. sse.ts reads its events.
      if (headers['content-type']?.startsWith('text/event-stream')) {
        response.destroy();
        return resolve({ status, headers, text: '' });
      }
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status, headers, text: Buffer.concat(chunks).toString('utf8') }));
    });
    call.on('error', reject);
    call.end(payload);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
