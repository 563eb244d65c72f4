import { Helper } from '../helper.js';

/** One webhook call as the receiver saw it. */
export interface ReceivedCall {
  path: string;
  /** `webhook-id`: the id of the event. */
  id: string;
  at: number;
  /** Null while the secret of the path has not been told. */
  verified: boolean | null;
  /** Null while no answer has been given. */
  answered: number | null;
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
  /** W3C trace context, where the call carried one. */
  traceparent?: string;
}

export interface ReceiverRule {
  delayMs?: number;
  /** How many of the next calls are answered with `status`. */
  failures?: number;
  status?: number;
}

/** A webhook receiver in a process apart. Each path is a destination with a secret and a behaviour of its own. */
export class Receiver {
  readonly #helper: Helper;

  private constructor(helper: Helper) {
    this.#helper = helper;
  }

  static async start(): Promise<Receiver> {
    return new Receiver(await Helper.start('gateway/receiver-program'));
  }

  /** One that another process has started, and ends. */
  static at(url: string): Receiver {
    return new Receiver(Helper.at(url));
  }

  url(path: string): string {
    return this.#helper.url + path;
  }

  /** Signatures on this path are verified with the secret, those of calls that have come already too. */
  async setSecret(path: string, secret: string): Promise<void> {
    await this.#helper.control('secret', { path, secret });
  }

  async setRule(path: string, rule: ReceiverRule): Promise<void> {
    await this.#helper.control('rule', { path, ...rule });
  }

  /** In the order of arrival; of one path, or of all. */
  async calls(path?: string): Promise<ReceivedCall[]> {
    return (await this.#helper.control<{ calls: ReceivedCall[] }>('calls', { path })).calls;
  }

  async stop(): Promise<void> {
    await this.#helper.stop();
  }
}
