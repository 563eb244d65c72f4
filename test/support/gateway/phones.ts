import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PairingTerms, PhoneEvent, Signal } from '@gwk/engine-pod/driver/sandbox/network';

/**
 * Simulated phones of sandbox instances. They scan a code, refuse or unlink on request, and record signals other than
 * messages. Serves the routes beside `/stanza`.
 */
export class Phones {
  /** Default for instances without terms of their own. */
  terms: PairingTerms = { codes: 6, codeMs: 20_000 };
  readonly termsOf = new Map<string, PairingTerms>();
  readonly signals: (Signal & { instanceId: string })[] = [];
  readonly #doing = new Map<string, PhoneEvent[]>();
  readonly #waiting = new Map<string, (event: PhoneEvent | null) => void>();

  /** Next action of the phone of this instance (UUID). */
  do(instanceId: string, event: PhoneEvent): void {
    const waiting = this.#waiting.get(instanceId);
    this.#waiting.delete(instanceId);
    if (waiting) waiting(event);
    else this.#doing.set(instanceId, [...(this.#doing.get(instanceId) ?? []), event]);
  }

  /** Returns false for a route that is not served here. */
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
      // Each instance has one open poll. A new one ends the previous one.
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
