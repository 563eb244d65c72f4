import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PairingTerms, PhoneEvent, Signal } from '@gwk/engine-pod/driver/sandbox/network';

/**
 * The phones behind sandbox numbers, as a network of the tests plays them: what they do next (read a code, refuse,
 * unlink), and what reached them that is no message. Serves the routes beside `/stanza`.
 */
export class Phones {
  /** Of instances that have none of their own. */
  terms: PairingTerms = { codes: 6, codeMs: 20_000 };
  readonly termsOf = new Map<string, PairingTerms>();
  readonly signals: (Signal & { instanceId: string })[] = [];
  readonly #doing = new Map<string, PhoneEvent[]>();
  readonly #waiting = new Map<string, (event: PhoneEvent | null) => void>();

  /** The next thing that happens to this number (UUID of its instance). */
  do(instanceId: string, event: PhoneEvent): void {
    const waiting = this.#waiting.get(instanceId);
    this.#waiting.delete(instanceId);
    if (waiting) waiting(event);
    else this.#doing.set(instanceId, [...(this.#doing.get(instanceId) ?? []), event]);
  }

  /** False for what is none of theirs. */
  async serve(request: IncomingMessage, text: string, response: ServerResponse): Promise<boolean> {
    const body = JSON.parse(text) as { instance_id: string; signal?: Signal; within_ms?: number };
    if (request.url === '/signal') {
      this.signals.push({ ...body.signal!, instanceId: body.instance_id });
      answer(response, {});
    } else if (request.url === '/pairing') answer(response, this.termsOf.get(body.instance_id) ?? this.terms);
    else if (request.url === '/event') {
      answer(response, { event: await this.#next(body.instance_id, body.within_ms ?? 0, response) });
    } else return false;
    return true;
  }

  async #next(instanceId: string, withinMs: number, response: ServerResponse): Promise<PhoneEvent | null> {
    const event = this.#doing.get(instanceId)?.shift();
    if (event) return event;
    return new Promise((resolve) => {
      // One connection for each number: whoever asked before has gone.
      this.#waiting.get(instanceId)?.(null);
      const settle = (next: PhoneEvent | null): void => {
        clearTimeout(timer);
        if (this.#waiting.get(instanceId) === settle) this.#waiting.delete(instanceId);
        resolve(next);
      };
      const timer = setTimeout(() => settle(null), withinMs);
      this.#waiting.set(instanceId, settle);
      response.on('close', () => settle(null));
    });
  }
}

function answer(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
