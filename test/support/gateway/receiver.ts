import { Helper } from '../helper.js';

/** One webhook call as the receiver saw it. */
export interface ReceivedCall {
  path: string;
  /** `webhook-id`: id of the event. */
  id: string;
  at: number;
  /** Null until the secret of the path is known. */
  verified: boolean | null;
  /** Null until the call is answered. */
  answered: number | null;
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
  /** W3C trace context, if the call carried one. */
  traceparent?: string;
}

export interface ReceiverRule {
  delayMs?: number;
  /** Number of next calls to answer with `status`. */
  failures?: number;
  status?: number;
}

/** Webhook receiver in a separate process. Each path is an endpoint with its own secret and behaviour. */
export class Receiver {
  readonly #helper: Helper;

  private constructor(helper: Helper) {
    this.#helper = helper;
  }

  static async start(): Promise<Receiver> {
    return new Receiver(await Helper.start('gateway/receiver-program'));
  }

  /** Connects to a receiver that another process started and stops. */
  static at(url: string): Receiver {
    return new Receiver(Helper.at(url));
  }

  url(path: string): string {
    return this.#helper.url + path;
  }

  /** Verifies signatures on this path with the secret, also those of calls received earlier. */
  async setSecret(path: string, secret: string): Promise<void> {
    await this.#helper.control('secret', { path, secret });
  }

  async setRule(path: string, rule: ReceiverRule): Promise<void> {
    await this.#helper.control('rule', { path, ...rule });
  }

  /** Calls in order of arrival, of one path or of all. */
  async calls(path?: string): Promise<ReceivedCall[]> {
    return (await this.#helper.control<{ calls: ReceivedCall[] }>('calls', { path })).calls;
  }

  async stop(): Promise<void> {
    await this.#helper.stop();
  }
}
